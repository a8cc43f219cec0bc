{{/* A ServiceMonitor and its Service: of component, as settings say, which stand at path in the values. */}}
{{- define "fairlead-policies.serviceMonitor" -}}
{{- $root := .root }}
{{- if and ($root.Capabilities.APIVersions.Has "v1/Pod") (not ($root.Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor")) }}
{{- fail (printf "%s.enabled is true, and this API server has no ServiceMonitor of monitoring.coreos.com/v1: install the Prometheus Operator first" .path) }}
{{- end }}
{{- $selector := include "fairlead-policies.selector" . | fromYaml -}}
apiVersion: v1
kind: Service
metadata:
  name: fairlead-{{ .component }}-metrics
  namespace: {{ $root.Release.Namespace }}
  labels:
    {{- include "fairlead-policies.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  selector: {{- toYaml $selector | nindent 4 }}
  ports:
  - {name: metrics, port: 8080, targetPort: metrics}
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: fairlead-{{ .component }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "fairlead-policies.labelsWith" (dict "root" $root "labels" .settings.labels) | nindent 4 }}
spec:
  selector:
    matchLabels: {{- toYaml $selector | nindent 6 }}
  endpoints:
  - port: metrics
    {{- with .settings.interval }}
    interval: {{ . }}
    {{- end }}
{{- end -}}
