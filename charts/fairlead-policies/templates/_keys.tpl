{{/* Fails where a key of ours is in the wrong place or spelling, at the root and below cluster: what else is there is a
     platform's. Elsewhere, the schema does. */}}
{{- define "fairlead-policies.checkKeys" -}}
{{- $known := .Files.Get "keys.json" | fromJson -}}
{{- if hasKey .Values .Chart.Name }}{{ fail (printf "unknown key %s: these are the values of that chart itself, without its name" .Chart.Name) }}{{ end -}}
{{- $foreign := list -}}
{{- range $key, $_ := .Values -}}
{{- if not (or (has $key $known.notRead) (hasKey $known.nearMisses $key)) }}{{ $foreign = append $foreign $key }}{{ end -}}
{{- end -}}
{{- $misplaced := $foreign -}}
{{- range $key, $_ := .Values.cluster -}}
{{- if ne $key "proxy" }}{{ $misplaced = append $misplaced (printf "cluster.%s" $key) }}{{ end -}}
{{- end -}}
{{- with regexFind $known.proxySettings (join "\n" $misplaced) -}}
{{- fail (printf "unknown key %s: the settings are cluster.proxy.http, https and noProxy" .) -}}
{{- end -}}
{{- range $meant, $nearMisses := $known.nearMisses -}}
{{- with regexFind $nearMisses (join "\n" $foreign) -}}
{{- fail (printf "unknown key %s: it is not read; did you mean %s?" . $meant) -}}
{{- end -}}
{{- end -}}
{{- end -}}
