{{/* What all workloads of a chart have alike. A workload, below, is a dict: root; component, by which its values and its
     objects are named; and what it has of its own: labels, annotations, namespace, spread, asRoot. */}}

{{/* The labels of any object. */}}
{{- define "CHART.labels" -}}
{{- include "CHART.labelsWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{/* The same, and more of this object's. In: root, labels. */}}
{{- define "CHART.labelsWith" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- range $key, $_ := $common -}}
{{- if and (regexMatch "^([^/]+[.])?(helm[.]sh|fairlead[.]io|kyverno[.]io|kubernetes[.]io)/" $key) (ne $key "app.kubernetes.io/part-of") -}}
{{- fail (printf "commonLabels: %s is not yours to set: the chart, Kyverno and Kubernetes read such labels" $key) -}}
{{- end -}}
{{- end -}}
{{- merge (include "CHART.ownLabels" .root | fromYaml) (.labels | default dict) $common | toYaml -}}
{{- end -}}

{{/* How pods are selected. In: root, component. */}}
{{- define "CHART.selector" -}}
{{- dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/component" .component | toYaml -}}
{{- end -}}

{{/* The values of a workload, as JSON: own, else those for all. */}}
{{- define "CHART.over" -}}
{{- $settings := dict -}}
{{- range $given := list .all (.own | default dict) }}{{ range $key, $value := $given }}{{ if not (kindIs "invalid" $value) }}{{ $_ := set $settings $key $value }}{{ end }}{{ end }}{{ end -}}
{{- toJson $settings -}}
{{- end -}}

{{/* What is ours, and what somebody adds, who cannot take ours away. In: ours, given, at (where it is given). */}}
{{- define "CHART.added" -}}
{{- range $key, $_ := .given -}}
{{- if hasKey $.ours $key }}{{ fail (printf "%s: the chart itself sets %s" $.at $key) }}{{ end -}}
{{- end -}}
{{- merge (dict) .ours (.given | default dict) | toYaml -}}
{{- end -}}

{{/* Of a workload, or its account. In: of (the workload), given (annotations), at (where they are given). */}}
{{- define "CHART.metadata" -}}
name: fairlead-{{ .of.component }}
namespace: {{ .of.namespace | default .of.root.Release.Namespace }}
labels: {{- include "CHART.labelsWith" (dict "root" .of.root "labels" .of.labels) | nindent 2 }}
{{- $ours := .of.annotations | default dict }}
{{- if or $ours .given }}
annotations: {{- include "CHART.added" (dict "ours" $ours "given" .given "at" (printf "%s.%s" .of.component .at | trimPrefix "operator.")) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* In: a workload. */}}
{{- define "CHART.workloadMetadata" -}}
{{- include "CHART.metadata" (dict "of" . "given" (include "CHART.settings" . | fromJson).annotations "at" "annotations") -}}
{{- end -}}

{{/* The beginning of its spec. In: a workload. */}}
{{- define "CHART.workloadSpec" -}}
{{- $settings := include "CHART.settings" . | fromJson -}}
selector:
  matchLabels: {{- include "CHART.selector" . | nindent 4 }}
{{- if hasKey $settings "revisionHistoryLimit" }}
revisionHistoryLimit: {{ int $settings.revisionHistoryLimit }}
{{- end }}
{{- end -}}

{{/* In: a workload. */}}
{{- define "CHART.podMetadata" -}}
{{- $settings := include "CHART.settings" . | fromJson -}}
{{- /* It dials the API server, the proxy, or what it is to look at. A label, because with it the API server does not even
       ask Kyverno: it starts while Kyverno is down. */ -}}
{{- $ours := dict "app.kubernetes.io/name" (include "CHART.ownLabels" .root | fromYaml | dig "app.kubernetes.io/name" "") "policies.kyverno.io/inject-proxy-env" "exclude" -}}
{{- $labels := include "CHART.added" (dict "ours" (merge $ours (include "CHART.selector" . | fromYaml)) "given" $settings.podLabels "at" (printf "%s.podLabels" .component | trimPrefix "operator.")) | fromYaml -}}
labels: {{- merge $labels (.root.Values.commonLabels | default dict) | toYaml | nindent 2 }}
{{- with $settings.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The beginning of a pod's spec. In: a workload. */}}
{{- define "CHART.podSpec" -}}
{{- $settings := include "CHART.settings" . | fromJson -}}
{{- $selector := include "CHART.selector" . | fromYaml -}}
serviceAccountName: fairlead-{{ .component }}
securityContext:
  {{- if not .asRoot }}
  runAsNonRoot: true # the number is the image's, or the platform's: OpenShift refuses one that it did not give
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- $secrets := list }}
{{- range concat ($settings.imagePullSecrets | default list) ((.root.Values.global).imagePullSecrets | default list) }}
{{- $secrets = append $secrets (kindIs "string" . | ternary (dict "name" .) .) }}
{{- end }}
{{- $spread := list }}
{{- if .spread }}{{ $spread = list (dict "topologyKey" "kubernetes.io/hostname" "maxSkew" 1 "whenUnsatisfiable" "ScheduleAnyway") }}{{ end }}
{{- $constraints := list }}
{{- range hasKey $settings "topologySpreadConstraints" | ternary $settings.topologySpreadConstraints $spread }}
{{- $constraints = append $constraints (merge (dict) . (hasKey . "labelSelector" | ternary dict (dict "labelSelector" (dict "matchLabels" $selector)))) }}
{{- end }}
{{- $given := merge (dict "imagePullSecrets" (uniq $secrets) "topologySpreadConstraints" $constraints) (pick $settings "priorityClassName" "nodeSelector" "tolerations" "affinity") }}
{{- range $key, $value := $given }}{{ if $value }}
{{ dict $key $value | toYaml }}
{{- end }}{{ end }}
{{- end -}}

{{/* The beginning of a container. In: of (a workload), name, image and pullPolicy, resources, env (ours), goMemory (whether
     the garbage collector knows the limit, and works harder before the kernel ends the process). */}}
{{- define "CHART.container" -}}
{{- $env := .env | default list -}}
{{- if and .goMemory (dig "limits" "memory" "" (.resources | default dict)) -}}
{{- $env = append $env (dict "name" "GOMEMLIMIT" "valueFrom" (dict "resourceFieldRef" (dict "containerName" .name "resource" "limits.memory"))) -}}
{{- end -}}
{{- range $given := (include "CHART.settings" .of | fromJson).extraEnv -}}
{{- range $env }}{{ if eq .name $given.name }}{{ fail (printf "%s.extraEnv: the chart itself sets %s" $.of.component .name | trimPrefix "operator.") }}{{ end }}{{ end -}}
{{- $env = append $env $given -}}
{{- end -}}
name: {{ .name }}
image: {{ include "CHART.image" (dict "root" .of.root "image" .image) | quote }}
{{- range $key, $value := dict "imagePullPolicy" .pullPolicy "env" $env "resources" .resources }}{{ if $value }}
{{ dict $key $value | toYaml }}
{{- end }}{{ end }}
securityContext:
  {{- if .of.asRoot }}
  runAsUser: 0 # the files are root's
  {{- end }}
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{/* What to pull. In: root, image (repository, tag and digest). */}}
{{- define "CHART.image" -}}
{{- $repository := .image.repository -}}
{{- with (.root.Values.global).imageRegistry }}{{ $repository = regexReplaceAllLiteral "^ghcr[.]io/" $repository (printf "%s/" (trimSuffix "/" .)) }}{{ end -}}
{{- if .image.digest }}{{ $repository }}@{{ .image.digest }}{{ else }}{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}
