{{/* Fails for a bundle that is not certificates in PEM, as far as a template can tell: base64 of something that begins
     as DER does (0x30). No message shows any of it: somebody may have pasted a key. */}}
{{- define "fairlead-policies.checkTrustedCA" -}}
{{- $bundle := trim .Values.trustedCA.bundle -}}
{{- if .Values.trustedCA.enabled -}}
{{- if ne .Values.carry "SecretRef" -}}
{{- fail "trustedCA.enabled needs carry SecretRef: the bundle comes in the Secret fairlead-proxy, and with carry Literal nothing keeps it in the namespaces of pods" -}}
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
