{{/* What all workloads of a chart have alike. A workload, below, is a dict: root; component, by which its values and its
     objects are named; and what it has of its own: labels, annotations, namespace, spread, asRoot. */}}

{{/* The labels of any object. */}}
{{- define "fairlead-policies.labels" -}}
{{- include "fairlead-policies.labelsWith" (dict "root" . "labels" dict) -}}
{{- end -}}

{{/* The same, and more of this object's. In: root, labels. */}}
{{- define "fairlead-policies.labelsWith" -}}
{{- $common := .root.Values.commonLabels | default dict -}}
{{- range $key, $_ := $common -}}
{{- if and (regexMatch "^([^/]+[.])?(helm[.]sh|fairlead[.]io|kyverno[.]io|kubernetes[.]io)/" $key) (ne $key "app.kubernetes.io/part-of") -}}
{{- fail (printf "commonLabels: %s is not yours to set: the chart, Kyverno and Kubernetes read such labels" $key) -}}
{{- end -}}
{{- end -}}
{{- merge (include "fairlead-policies.ownLabels" .root | fromYaml) (.labels | default dict) $common | toYaml -}}
{{- end -}}

{{/* How pods are selected. In: root, component. */}}
{{- define "fairlead-policies.selector" -}}
{{- dict "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/component" .component | toYaml -}}
{{- end -}}

{{/* The values of a workload, as JSON: own, else those for all. */}}
{{- define "fairlead-policies.over" -}}
{{- $settings := dict -}}
{{- range $given := list .all (.own | default dict) }}{{ range $key, $value := $given }}{{ if not (kindIs "invalid" $value) }}{{ $_ := set $settings $key $value }}{{ end }}{{ end }}{{ end -}}
{{- toJson $settings -}}
{{- end -}}

{{/* What is ours, and what somebody adds, who cannot take ours away. In: ours, given, at (where it is given). */}}
{{- define "fairlead-policies.added" -}}
{{- range $key, $_ := .given -}}
{{- if hasKey $.ours $key }}{{ fail (printf "%s: the chart itself sets %s" $.at $key) }}{{ end -}}
{{- end -}}
{{- merge (dict) .ours (.given | default dict) | toYaml -}}
{{- end -}}

{{/* Of a workload, or its account. In: of (the workload), given (annotations), at (where they are given). */}}
{{- define "fairlead-policies.metadata" -}}
name: fairlead-{{ .of.component }}
namespace: {{ .of.namespace | default .of.root.Release.Namespace }}
labels: {{- include "fairlead-policies.labelsWith" (dict "root" .of.root "labels" .of.labels) | nindent 2 }}
{{- $ours := .of.annotations | default dict }}
{{- if or $ours .given }}
annotations: {{- include "fairlead-policies.added" (dict "ours" $ours "given" .given "at" (printf "%s.%s" .of.component .at | trimPrefix "operator.")) | nindent 2 }}
{{- end }}
{{- end -}}

{{/* In: a workload. */}}
{{- define "fairlead-policies.workloadMetadata" -}}
{{- include "fairlead-policies.metadata" (dict "of" . "given" (include "fairlead-policies.settings" . | fromJson).annotations "at" "annotations") -}}
{{- end -}}

{{/* The beginning of its spec. In: a workload. */}}
{{- define "fairlead-policies.workloadSpec" -}}
{{- $settings := include "fairlead-policies.settings" . | fromJson -}}
selector:
  matchLabels: {{- include "fairlead-policies.selector" . | nindent 4 }}
{{- if hasKey $settings "revisionHistoryLimit" }}
revisionHistoryLimit: {{ int $settings.revisionHistoryLimit }}
{{- end }}
{{- end -}}

{{/* In: a workload. */}}
{{- define "fairlead-policies.podMetadata" -}}
{{- $settings := include "fairlead-policies.settings" . | fromJson -}}
{{- /* It dials the API server, the proxy, or what it is to look at. A label, because with it the API server does not even
       ask Kyverno: it starts while Kyverno is down. */ -}}
{{- $ours := dict "app.kubernetes.io/name" (include "fairlead-policies.ownLabels" .root | fromYaml | dig "app.kubernetes.io/name" "") "policies.kyverno.io/inject-proxy-env" "exclude" -}}
{{- $labels := include "fairlead-policies.added" (dict "ours" (merge $ours (include "fairlead-policies.selector" . | fromYaml)) "given" $settings.podLabels "at" (printf "%s.podLabels" .component | trimPrefix "operator.")) | fromYaml -}}
labels: {{- merge $labels (.root.Values.commonLabels | default dict) | toYaml | nindent 2 }}
{{- with $settings.podAnnotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The beginning of a pod's spec. In: a workload. */}}
{{- define "fairlead-policies.podSpec" -}}
{{- $settings := include "fairlead-policies.settings" . | fromJson -}}
{{- $selector := include "fairlead-policies.selector" . | fromYaml -}}
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
{{- define "fairlead-policies.container" -}}
{{- $env := .env | default list -}}
{{- if and .goMemory (dig "limits" "memory" "" (.resources | default dict)) -}}
{{- $env = append $env (dict "name" "GOMEMLIMIT" "valueFrom" (dict "resourceFieldRef" (dict "containerName" .name "resource" "limits.memory"))) -}}
{{- end -}}
{{- range $given := (include "fairlead-policies.settings" .of | fromJson).extraEnv -}}
{{- range $env }}{{ if eq .name $given.name }}{{ fail (printf "%s.extraEnv: the chart itself sets %s" $.of.component .name | trimPrefix "operator.") }}{{ end }}{{ end -}}
{{- $env = append $env $given -}}
{{- end -}}
name: {{ .name }}
image: {{ include "fairlead-policies.image" (dict "root" .of.root "image" .image) | quote }}
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
{{- define "fairlead-policies.image" -}}
{{- $repository := .image.repository -}}
{{- with (.root.Values.global).imageRegistry }}{{ $repository = regexReplaceAllLiteral "^ghcr[.]io/" $repository (printf "%s/" (trimSuffix "/" .)) }}{{ end -}}
{{- if .image.digest }}{{ $repository }}@{{ .image.digest }}{{ else }}{{ $repository }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end -}}
{{- end -}}
