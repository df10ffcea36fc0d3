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
{{- if gt (int .Values.replicas) 1 -}}
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
