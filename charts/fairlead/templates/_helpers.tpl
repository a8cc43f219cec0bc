{{- define "fairlead.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: fairlead
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "fairlead.selectorLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end -}}

{{/* Of the pods: podLabels, and ours, which nobody can take away. */}}
{{- define "fairlead.podLabels" -}}
{{- /* It dials the API server alone, and starts while Kyverno is down. */ -}}
{{- $ours := merge (dict "app.kubernetes.io/name" "fairlead" "policies.kyverno.io/inject-proxy-env" "exclude") (include "fairlead.selectorLabels" . | fromYaml) -}}
{{- range $key, $_ := .Values.podLabels -}}
{{- if hasKey $ours $key }}{{ fail (printf "podLabels: the chart itself sets %s" $key) }}{{ end -}}
{{- end -}}
{{- toYaml (merge $ours .Values.podLabels) -}}
{{- end -}}

{{- define "fairlead.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest }}{{ $image.repository }}@{{ $image.digest }}{{ else }}{{ $image.repository }}:{{ $image.tag | default .Chart.AppVersion }}{{ end -}}
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
{{- $_ := set $object.metadata "labels" (merge (include "fairlead.labels" $root | fromYaml) ($object.metadata.labels | default dict)) }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
