{{/* How pods get the bundle. Auto is a ConfigMap, whatever the API server serves: it does not say which kubelets mount a
     ClusterTrustBundle. */}}
{{- define "fairlead-policies.trustedCAThrough" -}}
{{- $through := eq (.Values.trustedCA.through | default "Auto") "ClusterTrustBundle" | ternary "ClusterTrustBundle" "ConfigMap" -}}
{{- $served := .Capabilities.APIVersions -}}
{{- if and (eq $through "ClusterTrustBundle") ($served.Has "v1/Pod") (not (or ($served.Has "certificates.k8s.io/v1/ClusterTrustBundle") ($served.Has "certificates.k8s.io/v1beta1/ClusterTrustBundle"))) -}}
{{- fail "trustedCA.through is ClusterTrustBundle, and this API server has none: it takes --runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true and the feature gates ClusterTrustBundle and ClusterTrustBundleProjection, there and in every kubelet; or take ConfigMap" -}}
{{- end -}}
{{- $through -}}
{{- end -}}

{{/* Fails for a bundle that is not certificates in PEM, as far as a template can tell: base64 of something that begins
     as DER does (0x30). No message shows any of it: somebody may have pasted a key. */}}
{{- define "fairlead-policies.checkTrustedCA" -}}
{{- $bundle := trim .Values.trustedCA.bundle -}}
{{- if .Values.trustedCA.enabled -}}
{{- if and (ne .Values.carry "SecretRef") (ne (include "fairlead-policies.trustedCAThrough" .) "ClusterTrustBundle") -}}
{{- fail (printf "trustedCA.enabled with carry %s needs trustedCA.through: ClusterTrustBundle, where every kubelet mounts them: ConfigMaps come into namespaces by the replicator, which carry SecretRef alone has" .Values.carry) -}}
{{- else if not $bundle -}}
{{- fail "trustedCA.bundle is empty while trustedCA.enabled is true" -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "(?i)BEGIN[^\n]*PRIVATE KEY" $bundle -}}
{{- fail "trustedCA.bundle has a private key in it: take it out, and replace the key, since everybody who could read this has it" -}}
{{- end -}}
{{- if and $bundle (ne (regexReplaceAll "(?m)^[ \t]*(#.*)?\r?$" (regexReplaceAllLiteral "-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----" $bundle "") "" | trim) "") -}}
{{- fail "trustedCA.bundle has something other than certificates in PEM in it: blocks of BEGIN CERTIFICATE to END CERTIFICATE, with comments (#) or blank lines between them" -}}
{{- end -}}
{{- range $number, $block := regexFindAll "-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----" $bundle -1 -}}
{{- $base64 := regexReplaceAll "-----[A-Z ]+-----|\\s" $block "" -}}
{{- if not (and (hasPrefix "MI" $base64) (hasPrefix "0" (b64dec $base64))) -}}
{{- fail (printf "trustedCA.bundle: certificate %d is damaged" (add1 $number)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
