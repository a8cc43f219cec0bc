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
