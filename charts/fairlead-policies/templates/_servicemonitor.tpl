{{/* The head of what finds metrics: a kind of the Prometheus Operator, of component, as settings say, which stand at path in the
     values. In: root, kind, component, settings, path; namespace, if it is another. */}}
{{- define "fairlead-policies.monitor" -}}
{{- if and (.root.Capabilities.APIVersions.Has "v1/Pod") (not (.root.Capabilities.APIVersions.Has (printf "monitoring.coreos.com/v1/%s" .kind))) }}
{{- fail (printf "%s.enabled is true, and this API server has no %s of monitoring.coreos.com/v1: install the Prometheus Operator first" .path .kind) }}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: {{ .kind }}
metadata:
  name: fairlead-{{ .component }}
  namespace: {{ .namespace | default .root.Release.Namespace }}
  labels: {{- include "fairlead-policies.labelsWith" (dict "root" .root "labels" .settings.labels) | nindent 4 }}
spec:
  selector:
    matchLabels: {{- include "fairlead-policies.selector" . | nindent 6 }}
  {{ eq .kind "PodMonitor" | ternary "podMetricsEndpoints" "endpoints" }}:
  - port: {{ eq .kind "PodMonitor" | ternary "health" "metrics" }}
    {{- with .settings.interval }}
    interval: {{ . }}
    {{- end }}
{{- end -}}

{{/* A ServiceMonitor and its Service. In: root, component, settings, path. */}}
{{- define "fairlead-policies.serviceMonitor" -}}
apiVersion: v1
kind: Service
metadata:
  name: fairlead-{{ .component }}-metrics
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "fairlead-policies.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  selector: {{- include "fairlead-policies.selector" . | nindent 4 }}
  ports:
  - {name: metrics, port: 8080, targetPort: metrics}
---
{{ include "fairlead-policies.monitor" (merge (dict "kind" "ServiceMonitor") .) }}
{{- end -}}
