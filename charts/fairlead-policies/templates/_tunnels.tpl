{{/* The families of tunnels that go some way, as JSON: a list of them with name and way. */}}
{{- define "fairlead-policies.tunnels" -}}
{{- /* The relay of the cluster speaks plain HTTP with agents, whatever the proxy does, and there is no Secret for one of their own. */ -}}
{{- $tls := and (ne .Values.carry "Relay") (hasPrefix "https://" (lower (include "fairlead-policies.proxy" . | fromJson).https)) -}}
{{- $tunnels := list -}}
{{- range $name, $family := .Values.tunnels.enabled | ternary .Values.tunnels.families dict -}}
{{- $way := $tls | ternary ($family.throughTLS | default $family.through) $family.through -}}
{{- if and (eq $.Values.carry "Relay") (eq $way "Sidecar") $family.reads }}{{ $way = "Environment" }}{{ end -}}
{{- if ne $way "None" -}}
{{- $tunnels = append $tunnels (merge (dict "name" $name "way" $way) $family) -}}
{{- end -}}
{{- end -}}
{{- toJson $tunnels -}}
{{- end -}}

{{/* The same, by policy, as JSON: name to families, which go one way and are known by the same label keys. */}}
{{- define "fairlead-policies.tunnelPolicies" -}}
{{- $noRelay := include "fairlead-policies.noRelay" . -}}
{{- $policies := dict -}}
{{- range include "fairlead-policies.tunnels" . | fromJsonArray -}}
{{- if not (and $noRelay (has .way (list "Relay" "Sidecar"))) -}}
{{- $name := include "fairlead-policies.tunnelPolicy" . -}}
{{- $_ := set $policies $name (append (get $policies $name | default list) .) -}}
{{- end -}}
{{- end -}}
{{- toJson $policies -}}
{{- end -}}

{{/* The name of a family's policy: its way and its label keys. Of a key that no name can have, or of several, the last segments, and
     a digest, because others can have the same. In: a family with its way. */}}
{{- define "fairlead-policies.tunnelPolicy" -}}
{{- $way := lower .way -}}
{{- $keys := keys .labels | sortAlpha -}}
{{- $all := join "," $keys -}}
{{- if eq $all "fairlead.io/tunnel" -}}
tunnel-{{ $way }}
{{- else if regexMatch "^[a-z0-9]([-a-z0-9]{0,28}[a-z0-9])?$" $all -}}
tunnel-{{ $way }}-{{ $all }}
{{- else -}}
{{- $segments := list -}}
{{- range $keys }}{{ $segments = append $segments (base . | lower) }}{{ end -}}
tunnel-{{ $way }}-{{ regexReplaceAll "[^a-z0-9]+" (join "-" $segments) "-" | trunc 21 | trimSuffix "-" }}-{{ sha256sum $all | trunc 8 }}
{{- end -}}
{{- end -}}

{{/* Families as CEL, one row in a line: what the text of their way reads of them. In: a list of them. */}}
{{- define "fairlead-policies.tunnelRows" -}}
{{- $settings := dict "labels" dict "containers" list "arguments" list -}}
{{- if eq (first .).way "Relay" }}{{ $_ := set $settings "targets" list }}{{ else }}{{ $_ := set (set $settings "reads" list) "replacesBareURLs" false }}{{ end -}}
{{- if eq (first .).way "Sidecar" }}{{ $_ := set $settings "flag" list }}{{ end -}}
{{- $rows := list -}}
{{- range $family := . -}}
{{- $row := list -}}{{- /* dyn, because CEL has no map of texts and lists. */ -}}
{{- range $key, $none := $settings }}{{ $row = append $row (printf "%s:dyn(%s)" (toJson $key) (get $family $key | default $none | toJson)) }}{{ end -}}
{{- $rows = append $rows (printf "{%s}" (join "," $row)) -}}
{{- end -}}
{{- printf "[\n  %s\n]" (join ",\n  " $rows) -}}
{{- end -}}
