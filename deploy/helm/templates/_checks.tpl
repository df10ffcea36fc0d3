{{/* Refuses values that cannot serve together. Each sentence says what to set. */}}
{{- define "arrowgate.checks" -}}
{{- $policy := .Values.policy -}}
{{- $sources := compact (list $policy.configMap ($policy.files | empty | ternary "" "files") $policy.git.repository) -}}
{{- if not $sources -}}
{{- fail "there is no policy: set one of policy.configMap, policy.files and policy.git.repository" -}}
{{- end -}}
{{- if gt (len $sources) 1 -}}
{{- fail "there are several policies: set only one of policy.configMap, policy.files and policy.git.repository" -}}
{{- end -}}
{{- if $policy.files -}}
{{- range list "model.conf" "policy.csv" -}}
{{- if not (hasKey $policy.files .) -}}
{{- fail (printf "policy.files has no %s: a policy folder needs model.conf and policy.csv" .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and .Values.issuers.secret.name $policy.git.repository -}}
{{- fail "issuers.secret needs a policy from a ConfigMap: with policy.git, put issuers.yaml into the repository" -}}
{{- end -}}
{{- if and .Values.issuers.secret.name (hasKey $policy.files "issuers.yaml") -}}
{{- fail "issuers.yaml is in policy.files and in issuers.secret: keep one of them" -}}
{{- end -}}
{{- if .Values.journal -}}
{{- include "arrowgate.journalChecks" . -}}
{{- else if gt (int .Values.replicas) 1 -}}
{{- if not .Values.redis.urlSecret.name -}}
{{- fail (printf "replicas is %d, but the embedded store serves one replica: set redis.urlSecret.name, or replicas to 1" (int .Values.replicas)) -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- fail "several replicas share one data folder: set persistence.enabled to true" -}}
{{- end -}}
{{- if not (include "arrowgate.shared" .) -}}
{{- fail (printf "several replicas write one volume: set persistence.accessMode to ReadWriteMany instead of %s, or name a shared persistence.existingClaim" .Values.persistence.accessMode) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.redis.urlSecret.name (not .Values.persistence.enabled) -}}
{{- fail "a catalog in Redis needs its data folder after a restart: set persistence.enabled to true" -}}
{{- end -}}
{{- if and .Values.keys.sharedSecret.name (not .Values.redis.urlSecret.name) -}}
{{- fail "keys.sharedSecret is for API keys in Redis: set redis.urlSecret, or leave it out" -}}
{{- end -}}
{{- if and .Values.tls.clientCaSecret.name (not .Values.tls.secret) -}}
{{- fail "tls.clientCaSecret needs a certificate: set tls.secret" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled .Values.networkPolicy.enabled (not .Values.networkPolicy.monitoring) -}}
{{- fail "metrics.serviceMonitor is enabled, but the network policy lets nobody read metrics: name Prometheus in networkPolicy.monitoring" -}}
{{- end -}}
{{- include "arrowgate.configChecks" . -}}
{{- end -}}

{{/* Refuses values that gateways with volumes of their own cannot serve with. */}}
{{- define "arrowgate.journalChecks" -}}
{{- $place := .Values.journal -}}
{{- $store := splitList ":" $place | first -}}
{{- $stores := list -}}
{{- range .Values.config.object_stores -}}
{{- $stores = append $stores .name -}}
{{- end -}}
{{- if not (has $store $stores) -}}
{{- fail (printf "journal is %s, but config.object_stores has no store named %s: add it" $place $store) -}}
{{- end -}}
{{- if not .Values.redis.urlSecret.name -}}
{{- fail "journal is for gateways that share a Redis: set redis.urlSecret.name, or leave journal out" -}}
{{- end -}}
{{- if not .Values.persistence.enabled -}}
{{- fail "each gateway keeps the newest part of its audit log on its volume: set persistence.enabled to true" -}}
{{- end -}}
{{- if .Values.persistence.existingClaim -}}
{{- fail "with journal each gateway has a volume of its own: leave persistence.existingClaim out" -}}
{{- end -}}
{{- if not .Values.keys.sharedSecret.name -}}
{{- fail "with journal each gateway would have API keys of its own: set keys.sharedSecret, which keeps them in Redis" -}}
{{- end -}}
{{- if not (dig "audit" "archive" "" .Values.config) -}}
{{- fail (printf "with journal each gateway would search its own audit log alone: set config.audit.archive, such as %s:/audit" $store) -}}
{{- end -}}
{{- end -}}

{{/* Refuses keys of `config` that the chart sets from other values. */}}
{{- define "arrowgate.configChecks" -}}
{{- $owned := dict
  "data" "the volume is mounted at /data"
  "policies" "set policy"
  "shutdown" "set shutdown.delaySeconds and shutdown.graceSeconds"
  "listen.host" "the chart listens on all addresses"
  "listen.port" "set service.port"
  "listen.tls" "set tls"
  "listen.admin" "probes and metrics use port 9090"
  "coordination.redis" "set redis.urlSecret"
  "journal" "set journal"
  "audit.signing_key" "set audit.signingKeySecret"
  "keys.secret_file" "set keys.sharedSecret"
-}}
{{- range $key, $value := .Values.config -}}
{{- if hasKey $owned $key -}}
{{- fail (printf "config.%s is set by the chart: %s" $key (get $owned $key)) -}}
{{- end -}}
{{- if kindIs "map" $value -}}
{{- range $inner, $_ := $value -}}
{{- $path := printf "%s.%s" $key $inner -}}
{{- if hasKey $owned $path -}}
{{- fail (printf "config.%s is set by the chart: %s" $path (get $owned $path)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range .Values.env -}}
{{- if hasPrefix "ARROWGATE_" .name -}}
{{- fail (printf "env has %s: variables override the configuration of the chart; set the key in config instead" .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
