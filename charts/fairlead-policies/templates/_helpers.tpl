{{/* The three settings, checked, as JSON: proxy, and what it leaves empty from cluster.proxy.
     No message shows a value: it may have a password. */}}
{{- define "fairlead-policies.proxy" -}}
{{- include "fairlead-policies.checkKeys" . -}}
{{- $found := dict "http" "" "https" "" "noProxy" "" "httpPrevious" "" "httpsPrevious" "" -}}
{{- $paths := dict -}}
{{- range $path := list "cluster.proxy" "proxy" -}}
{{- $given := $.Values -}}
{{- range splitList "." $path }}{{ $given = get $given . | default dict }}{{ end -}}
{{- $given = merge (dict "httpPrevious" (dig "previous" "http" "" $given) "httpsPrevious" (dig "previous" "https" "" $given)) $given -}}
{{- range $key := keys $found -}}
{{- $value := get $given $key | default "" -}}
{{- if kindIs "slice" $value }}{{ $value = join "," $value }}{{ end -}}
{{- if trim $value -}}
{{- $_ := set $found $key (trim $value) -}}
{{- $_ := set $paths $key (printf "%s.%s" $path (get (dict "httpPrevious" "previous.http" "httpsPrevious" "previous.https") $key | default $key)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $key, $path := $paths -}}
{{- if regexMatch "[[:cntrl:]]" (get $found $key) -}}
{{- fail (printf "%s has a line end or another control character in it" $path) -}}
{{- end -}}
{{- if and (eq $key "noProxy") (regexMatch "[^, ] +[^, ]" (get $found $key)) -}}
{{- fail (printf "%s has a blank within an entry: write commas between entries, or a list" $path) -}}
{{- end -}}
{{- if and (ne $key "noProxy") (not (regexMatch "^(?i)https?://(.*@)?[^@/ ]+:[0-9]{1,5}/?$" (get $found $key))) -}}
{{- fail (printf "%s is not a URL: write http://host:port, or https://host:port where the proxy itself speaks TLS" $path) -}}
{{- end -}}
{{- end -}}
{{- $referred := eq .Values.carry "SecretRef" -}}
{{- if and ((.Values.source).existing) (eq .Values.carry "Literal") -}}
{{- fail "source.existing needs carry SecretRef or Relay: with carry Literal the chart itself writes the URLs of its values" -}}
{{- end -}}
{{- if and ((.Values.source).existing) $referred .Values.managementCluster.enabled -}}
{{- fail "managementCluster.enabled with source.existing needs carry Relay: with carry SecretRef pods get the list of that Secret, without managementCluster.endpointRanges" -}}
{{- end -}}
{{- /* Its URLs are not known here. With carry Relay the list is, and without one, a cluster is Direct. */ -}}
{{- $existing := and ((.Values.source).existing) (or $referred (trimAll ", " $found.noProxy)) (not (or $found.http $found.https)) -}}
{{- $_ := set $found "existing" (not (empty $existing)) -}}
{{- if not (or $found.http $found.https $existing) -}}
{{- $_ := set $found "noProxy" "" -}}
{{- else if not (or (trimAll ", " $found.noProxy) $existing) -}}
{{- fail (printf "cluster.proxy.noProxy (or proxy.noProxy) is empty while %s is set: everything inside the cluster would go through the proxy" (or $paths.http $paths.https)) -}}
{{- end -}}
{{- toJson $found -}}
{{- end -}}

{{/* The fingerprints of the credentials, as JSON with current and previous. Those of URLs that override cluster.proxy are not
     known. The current one is "none" where somebody counts, and the URLs have no credentials; empty where nobody does. */}}
{{- define "fairlead-policies.fingerprints" -}}
{{- $probes := (.Values.cluster | default dict).probes | default dict -}}
{{- $given := $probes.credentials | default dict -}}
{{- $ours := .Values.proxy | default dict -}}
{{- $before := $ours.previous | default dict -}}
{{- range $key, $value := $given -}}
{{- if not (regexMatch "^[!-~]{0,64}$" $value) }}{{ fail (printf "cluster.probes.credentials.%s is not a fingerprint: one word of at most 64 characters" $key) }}{{ end -}}
{{- end -}}
{{- if not (regexMatch "^[!-~]{0,300}$" ($probes.revision | default "")) }}{{ fail "cluster.probes.revision is not a revision: one word of at most 300 characters" }}{{ end -}}
{{- $current := $given.current | default "" -}}
{{- $proxy := include "fairlead-policies.proxy" . | fromJson -}}
{{- if or (print $ours.http $ours.https | replace "<nil>" "" | trim) $proxy.existing (and ((.Values.source).existing) (eq .Values.carry "SecretRef")) -}}
{{- $current = "" -}}
{{- else if and (not $current) (or $given.previous $probes.targets) (not (contains "@" (print $proxy.http $proxy.https))) -}}
{{- $current = "none" -}}
{{- end -}}
{{- dict "revision" (empty $current | ternary "" ($probes.revision | default "")) "current" $current "previous" (print $before.http $before.https | replace "<nil>" "" | trim | empty | ternary ($given.previous | default "") "") | toJson -}}
{{- end -}}

{{/* The arguments by which the probe counts credentials, and says what it does not see; empty where nobody asks. */}}
{{- define "fairlead-policies.countArguments" -}}
{{- if (include "fairlead-policies.fingerprints" . | fromJson).current -}}
{{- $count := list -}}
{{- $unseen := list -}}
{{- if eq .Values.carry "SecretRef" -}}
{{- $count = append $count "copies" -}}
{{- end -}}
{{- if include "fairlead-policies.relayInstalled" . }}{{ $count = append $count "relays" }}{{ end -}}
{{- if eq .Values.carry "Literal" }}{{ $unseen = append $unseen "pods with literal URLs (carry Literal)" }}{{ end -}}
{{- if or .Values.node.enabled .Values.relay.onMachines }}{{ $unseen = append $unseen "relays of machines (node.delivery Relay)" }}{{ end -}}
- --count={{ join "," $count | default "relays" }}
{{- if include "fairlead-policies.leftCopies" . }}
- --copies-left=/run/fairlead-copies/no_proxy
{{- end }}
{{- range $unseen }}
- {{ printf "--unseen=%s" . | quote }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether there may be copies of the Secret from an earlier carry, which nobody counts; empty if not. The probe itself looks: they
     count as gone once the Secret of this namespace is, and what renders a chart may not see that. */}}
{{- define "fairlead-policies.leftCopies" -}}
{{- if and (ne .Values.carry "SecretRef") (include "fairlead-policies.fingerprints" . | fromJson).current }}true{{ end -}}
{{- end -}}

{{/* The six variables and their values, as JSON. */}}
{{- define "fairlead-policies.environment" -}}
{{- $proxy := include "fairlead-policies.proxy" . | fromJson -}}
{{- $noProxy := $proxy.noProxy -}}
{{- if and $noProxy .Values.managementCluster.enabled -}}
{{- $ranges := .Values.managementCluster.endpointRanges -}}
{{- if not $ranges -}}
{{- fail "managementCluster.endpointRanges is empty while managementCluster.enabled is true: name the networks of the control-plane endpoints that pods of this cluster dial" -}}
{{- end -}}
{{- $known := list -}}
{{- range splitList "," $noProxy }}{{ $known = append $known (trim .) }}{{ end -}}
{{- range .Values.managementCluster.tunnelNamespaces }}{{ $ranges = append $ranges (printf ".%s" .) }}{{ end -}}
{{- range $range := $ranges -}}
{{- if not (has $range $known) -}}
{{- $known = append $known $range -}}
{{- $noProxy = printf "%s,%s" (trimSuffix "," $noProxy) $range -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range list $proxy.http $proxy.https $noProxy -}}
{{- if gt (len .) 131000 -}}
{{- fail "one of http, https and noProxy is longer than 131000 bytes: Linux starts no process with such a variable" -}}
{{- end -}}
{{- end -}}
{{- dict "HTTP_PROXY" $proxy.http "http_proxy" $proxy.http "HTTPS_PROXY" $proxy.https "https_proxy" $proxy.https "NO_PROXY" $noProxy "no_proxy" $noProxy | toJson -}}
{{- end -}}

{{/* How agents get the six variables, as CEL, unless by reference; then nothing, and the text's own references hold. */}}
{{- define "fairlead-policies.entries" -}}
{{- if ne .Values.carry "SecretRef" -}}
{{- $proxy := include "fairlead-policies.proxy" . | fromJson -}}
{{- $relay := eq .Values.carry "Relay" -}}
{{- $entries := list -}}
{{- range $name, $value := include "fairlead-policies.environment" . | fromJson -}}
{{- $noProxy := eq (upper $name) "NO_PROXY" -}}
{{- if and $relay (not $noProxy) (or $value $proxy.existing) -}}
{{- $entries = append $entries (printf "{\"name\": dyn(%s), \"value\": dyn(%s)}" (toJson $name) (include "fairlead-policies.relayURL" $)) -}}
{{- else -}}
{{- /* kubelet expands $(NAME) in a value and reads $$ as $ (k8s.io/kubernetes, third_party/forked/golang/expansion). */ -}}
{{- $entry := dict "name" $name "value" ($value | replace "$" "$$") | toJson -}}
{{- $entries = append $entries ($relay | ternary (printf "{\"name\": dyn(%s), \"value\": dyn(%s)}" (toJson $name) ($value | replace "$" "$$" | toJson)) $entry) -}}
{{- end -}}
{{- end -}}
{{- $text := printf "[%s]" (join "," $entries) -}}
{{- /* The API server refuses a longer expression, and its message shows it, password included. */ -}}
{{- if gt (len $text) 100000 -}}
{{- fail (printf "noProxy is too long for carry %s: the policy holds it twice, in an expression of at most 100000 characters; take carry SecretRef" .Values.carry) -}}
{{- end -}}
{{- $text -}}
{{- end -}}
{{- end -}}

{{/* The host of the relay's Service, in a URL. */}}
{{- define "fairlead-policies.relayHost" -}}
{{- $address := .Values.relay.clusterIP -}}
{{- if contains ":" $address }}[{{ $address }}]{{ else }}{{ $address | default (printf "fairlead-relay.%s.svc" .Release.Namespace) }}{{ end -}}
{{- end -}}

{{/* The relay as a pod names it, as CEL. The user name is for who reads metrics, and authorises nothing. */}}
{{- define "fairlead-policies.relayURL" -}}
{{- $host := printf "%s:3128" (include "fairlead-policies.relayHost" .) | quote -}}
{{- if .Values.relay.onMachines }}{{ $host = printf "(object.spec.?hostNetwork.orValue(false) ? \"127.0.0.1:3128\" : %s)" $host }}{{ end -}}
"http://" + namespaceObject.metadata.name + "@" + {{ $host }}
{{- end -}}

{{/* Whether pods on the network of their node reach what the variables name, as CEL: DNS of the cluster and its Services
     are not theirs. */}}
{{- define "fairlead-policies.machines" -}}
{{- $proxy := include "fairlead-policies.proxy" . | fromJson -}}
{{- toString (or (ne .Values.carry "Relay") (not (empty .Values.relay.onMachines)) (not (or $proxy.http $proxy.https $proxy.existing))) -}}
{{- end -}}

{{/* Whether the relay is installed; empty if not. */}}
{{- define "fairlead-policies.relayInstalled" -}}
{{- if or (eq .Values.carry "Relay") .Values.relay.enabled }}true{{ end -}}
{{- end -}}

{{/* Of everything that is the relay's. Pods that run name it: it outlives the release. */}}
{{- define "fairlead-policies.relayMetadata" -}}
labels:
  app.kubernetes.io/component: relay
  {{- include "fairlead-policies.labels" . | nindent 2 }}
annotations:
  helm.sh/resource-policy: keep
{{- end -}}

{{/* The settings of every policy about who is selected, as JSON: variable name to CEL expression. */}}
{{- define "fairlead-policies.selection" -}}
{{- dict
  "optIn" (toString .Values.optIn)
  "hostNetwork" (toString (ne (toString .Values.exclude.hostNetwork) "false"))
  "machines" (include "fairlead-policies.machines" .)
  "excludedNames" (include "fairlead-policies.excluded" (dict "root" . "list" "names") | fromJsonArray | include "fairlead-policies.patterns")
  "excludedLabels" (include "fairlead-policies.excluded" (dict "root" . "list" "labels") | fromJsonArray | include "fairlead-policies.patterns") | toJson -}}
{{- end -}}

{{/* A list of exclude, as JSON: the defaults, and what the values add. In: root, list (its key). */}}
{{- define "fairlead-policies.excluded" -}}
{{- $exclude := .root.Values.exclude -}}
{{- concat (get ($exclude.defaults | default dict) .list | default list) (get $exclude .list | default list) | uniq | toJson -}}
{{- end -}}

{{/* exclude.sources as CEL, where Fairlead's variables win over those of a source. */}}
{{- define "fairlead-policies.excludedSources" -}}
{{- $given := .Values.exclude.sources -}}
{{- kindIs "slice" $given | ternary $given (list "*proxy*") | include "fairlead-policies.patterns" -}}
{{- end -}}

{{/* The same for inject-proxy-env: with carry SecretRef, a container's own source wins. */}}
{{- define "fairlead-policies.sourcesLeftAlone" -}}
{{- if and (eq .Values.carry "SecretRef") (not (kindIs "slice" .Values.exclude.sources)) }}[]{{ else }}{{ include "fairlead-policies.excludedSources" . }}{{ end -}}
{{- end -}}

{{/* The labels of exclude, as JSON: requirements, what a selector can say of them; patterns, the rest. */}}
{{- define "fairlead-policies.excludedLabels" -}}
{{- $values := dict -}}
{{- $patterns := list -}}
{{- range include "fairlead-policies.excluded" (dict "root" . "list" "labels") | fromJsonArray -}}
{{- if regexMatch "^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?=([*]|([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?)$" . -}}
{{- $label := splitn "=" 2 . -}}
{{- $_ := set $values $label._0 (append (get $values $label._0 | default list) $label._1) -}}
{{- else }}{{ $patterns = append $patterns . }}{{ end -}}
{{- end -}}
{{- $requirements := list -}}
{{- range $key, $of := $values -}}
{{- $requirements = append $requirements (has "*" $of | ternary (dict "key" $key "operator" "DoesNotExist") (dict "key" $key "operator" "NotIn" "values" (uniq $of))) -}}
{{- end -}}
{{- dict "requirements" $requirements "patterns" $patterns | toJson -}}
{{- end -}}

{{/* A list of patterns with * as CEL's list of regular expressions. JSON is CEL; pretty, because people read policies. */}}
{{- define "fairlead-policies.patterns" -}}
{{- $patterns := list -}}
{{- range . }}{{ $patterns = append $patterns (printf "^%s$" (regexQuoteMeta . | replace "\\*" ".*")) }}{{ end -}}
{{- toPrettyJson $patterns -}}
{{- end -}}

{{/* Why there is no relay, if there is none: what it reads is the Secret's HTTPS_PROXY. */}}
{{- define "fairlead-policies.noRelay" -}}
{{- if ne .Values.carry "SecretRef" -}}
carry {{ .Values.carry }} makes no Secret for it: take carry SecretRef
{{- else if not (include "fairlead-policies.proxy" . | fromJson).https -}}
it leads to cluster.proxy.https, which is empty
{{- end -}}
{{- end -}}

{{/* A policy file with its settings replaced, for the engine of the values.
     In: root, name (folder and file below policies/), settings (variable name to CEL expression), and where one text
     makes several policies: as (the policy's name) and labels (of pods; key to values, instead of the text's own),
     namespaces (that are not excluded). */}}
{{- define "fairlead-policies.policy" -}}
{{- $root := .root -}}
{{- include "fairlead-policies.requireEngine" $root -}}
{{- $settings := .settings -}}
{{- $included := .namespaces | default list -}}
{{- $policy := $root.Files.Get (printf "policies/%s/%s.yaml" .name .name) | fromYaml -}}
{{- if hasKey $settings "excludedLabels" -}}
{{- /* What selectors say costs nothing, and holds while Kyverno is down. */ -}}
{{- $excluded := include "fairlead-policies.excludedLabels" $root | fromJson -}}
{{- $settings = set (deepCopy $settings) "excludedLabels" (include "fairlead-policies.patterns" $excluded.patterns) -}}
{{- $own := list -}}
{{- range $policy.spec.matchConstraints.objectSelector.matchExpressions }}{{ if eq .key "policies.kyverno.io/inject-proxy-env" }}{{ $own = append $own . }}{{ end }}{{ end -}}
{{- $_ := set $policy.spec.matchConstraints.objectSelector "matchExpressions" (concat $own $excluded.requirements) -}}
{{- end -}}
{{- range $policy.spec.variables }}{{ if hasKey $settings .name }}{{ $_ := set . "expression" (get $settings .name) }}{{ end }}{{ end -}}
{{- $selector := $policy.spec.matchConstraints.namespaceSelector -}}
{{- $expressions := list -}}
{{- range $selector.matchExpressions -}}
{{- if eq .key "kubernetes.io/metadata.name" -}}
{{- $excluded := include "fairlead-policies.excluded" (dict "root" $root "list" "namespaces") | fromJsonArray -}}
{{- range $included }}{{ $excluded = without $excluded . }}{{ end -}}
{{- $_ := set . "values" $excluded -}}
{{- end -}}
{{- if .values }}{{ $expressions = append $expressions . }}{{ end -}}
{{- end -}}
{{- $_ := set $selector "matchExpressions" $expressions -}}
{{- if .labels -}}
{{- $expressions = list -}}
{{- range $key, $values := .labels }}{{ $expressions = append $expressions (dict "key" $key "operator" "In" "values" $values) }}{{ end -}}
{{- range $policy.spec.matchConstraints.objectSelector.matchExpressions }}{{ if ne .operator "In" }}{{ $expressions = append $expressions . }}{{ end }}{{ end -}}
{{- $_ := set $policy.spec.matchConstraints.objectSelector "matchExpressions" $expressions -}}
{{- end -}}
{{- $_ := set $policy.metadata "name" (.as | default .name) -}}
{{- $_ := set $policy.spec "failurePolicy" $root.Values.failurePolicy -}}
{{- include "fairlead-policies.forEngine" (dict "root" $root "policy" $policy) -}}
{{- end -}}

{{/* A policy for the engine of the values. In: root, policy (of Kyverno), and param (the kind of a parameter that is the release's
     namespace; only Native has parameters). */}}
{{- define "fairlead-policies.forEngine" -}}
{{- $root := .root -}}
{{- $policy := .policy -}}
{{- $_ := set $policy.metadata "labels" (include "fairlead-policies.labels" $root | fromYaml) -}}
{{- if eq $root.Values.engine "Native" -}}
{{- $_ := set $policy "apiVersion" "admissionregistration.k8s.io/v1" -}}
{{- $_ := set $policy "kind" "MutatingAdmissionPolicy" -}}
{{- $_ := set $policy "spec" (omit $policy.spec "autogen" "evaluation") -}}
{{- $_ := set $policy.spec "reinvocationPolicy" "IfNeeded" -}}
{{- with .param }}{{ $_ := set $policy.spec "paramKind" (dict "apiVersion" "v1" "kind" .) }}{{ end -}}
{{- toYaml $policy }}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: {{ $policy.metadata.name }}
  labels: {{- include "fairlead-policies.labels" $root | nindent 4 }}
spec:
  policyName: {{ $policy.metadata.name }}
  {{- if .param }}
  paramRef: {name: {{ $root.Release.Namespace }}, parameterNotFoundAction: Allow}
  {{- end }}
{{- else -}}
{{- toYaml $policy -}}
{{- end -}}
{{- end -}}

{{/* A policy that reports, with its settings replaced. In: root, file (below policies/), settings. */}}
{{- define "fairlead-policies.audit" -}}
{{- $settings := .settings -}}
{{- $policy := .root.Files.Get (printf "policies/%s.yaml" .file) | fromYaml -}}
{{- range $policy.spec.variables }}{{ if hasKey $settings .name }}{{ $_ := set . "expression" (get $settings .name) }}{{ end }}{{ end -}}
{{- $_ := set $policy.metadata "labels" (include "fairlead-policies.labels" .root | fromYaml) -}}
{{- toYaml $policy -}}
{{- end -}}

{{/* Fails where the API server lacks what the engine is made of. helm template asks no server: it does not know of v1/Pod. */}}
{{- define "fairlead-policies.requireEngine" -}}
{{- $served := .Capabilities.APIVersions -}}
{{- if not ($served.Has "v1/Pod") -}}
{{- else if and (eq .Values.engine "Native") (not ($served.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy")) -}}
{{- fail "engine is Native, and this API server has no MutatingAdmissionPolicy of admissionregistration.k8s.io/v1: it takes Kubernetes 1.36, or engine Kyverno" -}}
{{- else if and (eq .Values.engine "Kyverno") (not ($served.Has "policies.kyverno.io/v1/MutatingPolicy")) -}}
{{- fail "engine is Kyverno, and this API server has no MutatingPolicy of policies.kyverno.io/v1: install Kyverno 1.19 first, or take engine Native on Kubernetes 1.36" -}}
{{- end -}}
{{- end -}}

{{- define "fairlead-policies.ownLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The values of a workload, as JSON. Two take the Secrets of the one whose image they have. In: root, component. */}}
{{- define "fairlead-policies.settings" -}}
{{- $lender := get .root.Values (get (dict "probe" "replicator" "node" "relay") .component) | default dict -}}
{{- include "fairlead-policies.over" (dict "all" (pick $lender "imagePullSecrets") "own" (get .root.Values .component)) -}}
{{- end -}}

{{/* In: a workload. */}}
{{- define "fairlead-policies.serviceAccount" -}}
{{- $given := ((include "fairlead-policies.settings" . | fromJson).serviceAccount).annotations -}}
apiVersion: v1
kind: ServiceAccount
metadata: {{- include "fairlead-policies.metadata" (dict "of" . "given" $given "at" "serviceAccount.annotations") | nindent 2 }}
automountServiceAccountToken: false # the pod has one where it is needed
{{- end -}}

{{/* The namespaces that no policy of ours acts in, with commas. */}}
{{- define "fairlead-policies.withoutSecret" -}}
{{- $excluded := include "fairlead-policies.excluded" (dict "root" . "list" "namespaces") | fromJsonArray -}}
{{- if .Values.tunnels.enabled }}{{ range .Values.tunnels.namespaces }}{{ $excluded = without $excluded . }}{{ end }}{{ end -}}
{{- join "," $excluded -}}
{{- end -}}

{{/* Those in which only tunnels act, with commas: they have the Secret while an agent there refers to it. */}}
{{- define "fairlead-policies.onDemand" -}}
{{- $only := list -}}
{{- if .Values.tunnels.enabled -}}
{{- $excluded := include "fairlead-policies.excluded" (dict "root" . "list" "namespaces") | fromJsonArray -}}
{{- range .Values.tunnels.namespaces }}{{ if has . $excluded }}{{ $only = append $only . }}{{ end }}{{ end -}}
{{- end -}}
{{- if .Values.optIn }}{{ $only = list "*" }}{{ end -}}
{{- join "," $only -}}
{{- end -}}

{{/* A list as CEL, one element in a line, because people read policies. */}}
{{- define "fairlead-policies.lines" -}}
{{- $lines := list -}}
{{- range . }}{{ $lines = append $lines (toJson .) }}{{ end -}}
{{- if $lines }}{{ printf "[\n  %s\n]" (join ",\n  " $lines) }}{{ else }}[]{{ end -}}
{{- end -}}

{{- define "fairlead-policies.probeLabels" -}}
app.kubernetes.io/component: probe
{{ include "fairlead-policies.labels" . }}
{{- end -}}

{{/* The Secret of this namespace that has the settings: the relay's, or one that somebody else brings, else the pods', unless a fingerprint is to be in it, else one
     of the probe's own. */}}
{{- define "fairlead-policies.probeSource" -}}
{{- if or (include "fairlead-policies.relayInstalled" .) (.Values.source).existing }}fairlead-source{{ else if and (eq .Values.carry "SecretRef") (not (include "fairlead-policies.fingerprints" . | fromJson).current) }}fairlead-proxy{{ else }}fairlead-probe{{ end -}}
{{- end -}}
