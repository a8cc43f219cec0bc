{{- define "fairlead.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The values of a workload, as JSON: the operator's are those at the root, and hold for the others, too. In: root, component. */}}
{{- define "fairlead.settings" -}}
{{- include "fairlead.over" (dict "all" .root.Values "own" (get .root.Values .component)) -}}
{{- end -}}

{{/* proxy, checked, as JSON. No message shows a value: it may have a password. The operator judges the rest. */}}
{{- define "fairlead.proxy" -}}
{{- $proxy := dict -}}
{{- range $key := list "http" "https" "noProxy" -}}
{{- $value := get ($.Values.proxy | default dict) $key | default "" -}}
{{- $_ := set $proxy $key (kindIs "slice" $value | ternary (join "," $value) (toString $value) | trim) -}}
{{- end -}}
{{- $previous := get ($.Values.proxy | default dict) "previous" | default dict -}}
{{- range $key := list "http" "https" -}}
{{- with get $previous $key | default "" | toString | trim -}}
{{- $_ := set $proxy (printf "%sPrevious" $key) . -}}
{{- end -}}
{{- end -}}
{{- range $key, $field := dict "http" "http" "https" "https" "httpPrevious" "previous.http" "httpsPrevious" "previous.https" -}}
{{- $url := get $proxy $key | default "" -}}
{{- if regexMatch "[[:cntrl:]]" $url -}}
{{- fail (printf "proxy.%s has a line end or another control character in it" $field) -}}
{{- else if and $url (not (regexMatch "^(?i)https?://(.*@)?[^@/ ]+:[0-9]{1,5}/?$" $url)) -}}
{{- fail (printf "proxy.%s is not a URL: write http://host:port, or https://host:port where the proxy itself speaks TLS" $field) -}}
{{- end -}}
{{- end -}}
{{- if regexMatch "[\\x00-\\x09\\x0b\\x0c\\x0e-\\x1f\\x7f]" $proxy.noProxy -}}
{{- fail "proxy.noProxy has a control character in it" -}}
{{- else if regexMatch "[^,\\s] +[^,\\s]" $proxy.noProxy -}}
{{- fail "proxy.noProxy has a blank within an entry: write commas between entries, or a list" -}}
{{- end -}}
{{- toJson $proxy -}}
{{- end -}}

{{/* Manifests that also stand by themselves, with the release's namespace and labels. In: root, files (a glob). */}}
{{- define "fairlead.manifests" -}}
{{- $root := .root -}}
{{- range $path, $content := $root.Files.Glob .files -}}
{{- range $document := splitList "\n---\n" (toString $content | replace "fairlead-system" $root.Release.Namespace) -}}
{{- $object := fromYaml $document -}}
{{- if ne $object.kind "Namespace" -}}
{{- $_ := set $object.metadata "labels" (include "fairlead.labelsWith" (dict "root" $root "labels" $object.metadata.labels) | fromYaml) }}
{{- if eq $object.kind "ServiceAccount" -}}
{{- $settings := include "fairlead.settings" (dict "root" $root "component" (trimPrefix "fairlead-" $object.metadata.name)) | fromJson -}}
{{- with ($settings.serviceAccount).annotations }}{{ $_ := set $object.metadata "annotations" . }}{{ end -}}
{{- end -}}
{{- $places := list "" -}}
{{- if and $.namespaces (eq $object.kind "ClusterRoleBinding") -}}
{{- $places = $.namespaces -}}
{{- $_ := set $object "kind" "RoleBinding" -}}
{{- end -}}
{{- range $place := $places -}}
{{- if $place }}{{ $_ := set $object.metadata "namespace" $place }}{{ end }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails where nothing evaluates the policy, and where machines would wait for a key that no Secret has. Of CorporateProxies that
     the chart does not make, it knows nothing. */}}
{{- define "fairlead.checkNodeFiles" -}}
{{- $settings := .Values.nodeFiles -}}
{{- $served := .Capabilities.APIVersions -}}
{{- if not ($served.Has "v1/Pod") -}}
{{- else if and (eq $settings.engine "Native") (not ($served.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")) -}}
{{- fail "nodeFiles.engine is Native, and this API server has no MutatingAdmissionPolicy of admissionregistration.k8s.io/v1: it takes Kubernetes 1.36, or engine Kyverno" -}}
{{- else if and (eq $settings.engine "Kyverno") (not ($served.Has "policies.kyverno.io/v1/MutatingPolicy")) -}}
{{- fail "nodeFiles.engine is Kyverno, and this API server has no MutatingPolicy of policies.kyverno.io/v1: install Kyverno 1.19 first, or take engine Native on Kubernetes 1.36" -}}
{{- end -}}
{{- if .Values.corporateProxy.create -}}
{{- $spec := .Values.corporateProxy.spec | default dict -}}
{{- $node := $spec.node | default dict -}}
{{- $delivery := $node.delivery | default "Literal" -}}
{{- if ne $settings.delivery $delivery -}}
{{- fail (printf "nodeFiles.delivery is %s, and corporateProxy.spec.node.delivery %s: machines would wait for keys that their Secret lacks" $settings.delivery $delivery) -}}
{{- else if not $node.base64Twins -}}
{{- fail "nodeFiles.enabled takes corporateProxy.spec.node.base64Twins: true, or machines would wait for keys that their Secret lacks" -}}
{{- else if and (eq $delivery "Literal") (not (has "EnvironmentFile" ($node.files | default list))) -}}
{{- fail "nodeFiles.enabled takes EnvironmentFile in corporateProxy.spec.node.files, or machines would wait for keys that their Secret lacks" -}}
{{- else if and $settings.relayImage (not (dig "relay" "image" "" $node)) -}}
{{- fail "nodeFiles.relayImage takes corporateProxy.spec.node.relay.image, or machines would wait for a key that their Secret lacks" -}}
{{- else if and (ne $settings.trustedCA "None") (not $spec.trustedCARef) -}}
{{- fail "nodeFiles.trustedCA takes corporateProxy.spec.trustedCARef, or machines would wait for a key that their Secret lacks" -}}
{{- end -}}
{{- end -}}
{{- end -}}
