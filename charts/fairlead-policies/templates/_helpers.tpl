{{/* The three settings: proxy, and what it leaves empty from cluster.proxy. */}}
{{- define "fairlead-policies.proxy" -}}
{{- mustMerge (deepCopy .Values.proxy) .Values.cluster.proxy | toYaml -}}
{{- end -}}

{{/* The six variables and their values, as a map. */}}
{{- define "fairlead-policies.environment" -}}
{{- $proxy := include "fairlead-policies.proxy" . | fromYaml -}}
{{- $noProxy := $proxy.noProxy -}}
{{- if .Values.managementCluster.enabled -}}
{{- $noProxy = prepend .Values.managementCluster.endpointRanges $noProxy | compact | join "," -}}
{{- end -}}
{{- if and (or $proxy.http $proxy.https) (not $noProxy) -}}
{{- fail "proxy.noProxy is empty while proxy.http or proxy.https is set: everything inside the cluster would go through the proxy" -}}
{{- end -}}
{{- dict "HTTP_PROXY" $proxy.http "http_proxy" $proxy.http "HTTPS_PROXY" $proxy.https "https_proxy" $proxy.https "NO_PROXY" $noProxy "no_proxy" $noProxy | toYaml -}}
{{- end -}}

{{/* A list of patterns with * as CEL's list of regular expressions. JSON is CEL. */}}
{{- define "fairlead-policies.patterns" -}}
{{- $patterns := list -}}
{{- range . }}{{ $patterns = append $patterns (printf "^%s$" (regexQuoteMeta . | replace "\\*" ".*")) }}{{ end -}}
{{- toJson $patterns -}}
{{- end -}}

{{/* A policy file with its settings replaced, for the engine of the values.
     In: root, name (folder and file below policies/), settings (variable name to CEL expression). */}}
{{- define "fairlead-policies.policy" -}}
{{- $root := .root -}}
{{- $settings := .settings -}}
{{- $policy := $root.Files.Get (printf "policies/%s/%s.yaml" .name .name) | fromYaml -}}
{{- range $policy.spec.variables }}{{ if hasKey $settings .name }}{{ $_ := set . "expression" (get $settings .name) }}{{ end }}{{ end -}}
{{- range $policy.spec.matchConstraints.namespaceSelector.matchExpressions -}}
{{- if eq .key "kubernetes.io/metadata.name" }}{{ $_ := set . "values" $root.Values.exclude.namespaces }}{{ end -}}
{{- end -}}
{{- $_ := set $policy.spec "failurePolicy" $root.Values.failurePolicy -}}
{{- $_ := set $policy.metadata "labels" (include "fairlead-policies.labels" $root | fromYaml) -}}
{{- if eq $root.Values.engine "Native" -}}
{{- $_ := set $policy "apiVersion" "admissionregistration.k8s.io/v1" -}}
{{- $_ := set $policy "kind" "MutatingAdmissionPolicy" -}}
{{- $_ := set $policy "spec" (omit $policy.spec "autogen" "evaluation") -}}
{{- $_ := set $policy.spec "reinvocationPolicy" "IfNeeded" -}}
{{- toYaml $policy }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ .name }}
  labels: {{- include "fairlead-policies.labels" $root | nindent 4 }}
spec:
  policyName: {{ .name }}
{{- else -}}
{{- toYaml $policy -}}
{{- end -}}
{{- end -}}

{{- define "fairlead-policies.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}
