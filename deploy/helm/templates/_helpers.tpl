{{- define "arrowgate.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "arrowgate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "arrowgate.labels" -}}
{{ include "arrowgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The policy folder in the container. */}}
{{- define "arrowgate.policies" -}}
{{- with .Values.policy.git -}}
{{- if .repository -}}
{{- printf "/etc/arrowgate/git/current/%s" (.path | trimAll "/") | trimSuffix "/" -}}
{{- else -}}
/etc/arrowgate/policies
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The ConfigMap of the policy; empty with git. */}}
{{- define "arrowgate.policyMap" -}}
{{- if .Values.policy.configMap -}}
{{- .Values.policy.configMap -}}
{{- else if .Values.policy.files -}}
{{- include "arrowgate.name" . }}-policies
{{- end -}}
{{- end -}}

{{/* The gateways, as kubectl names them. */}}
{{- define "arrowgate.workload" -}}
{{ ternary "statefulset" "deployment" (ne .Values.journal "") }}/{{ include "arrowgate.name" . }}
{{- end -}}

{{/* Whether several gateways may write one volume at once. */}}
{{- define "arrowgate.shared" -}}
{{- if and .Values.redis.urlSecret.name (or (eq .Values.persistence.accessMode "ReadWriteMany") .Values.persistence.existingClaim) -}}
yes
{{- end -}}
{{- end -}}

{{/* Keys of arrowgate.yaml that follow from values, over those of `config`. */}}
{{- define "arrowgate.config" -}}
{{- $listen := dict "host" "0.0.0.0" "port" 2333 "admin" (dict "host" "0.0.0.0" "port" 9090) -}}
{{- if .Values.tls.secret -}}
{{- $tls := dict "cert" "/etc/arrowgate/tls/tls.crt" "key" "/etc/arrowgate/tls/tls.key" -}}
{{- if .Values.tls.clientCaSecret.name -}}
{{- $_ := set $tls "client_ca" "/etc/arrowgate/client-ca/ca.crt" -}}
{{- $_ := set $tls "client_subject" .Values.tls.clientSubject -}}
{{- end -}}
{{- $_ := set $listen "tls" $tls -}}
{{- end -}}
{{- $delay := printf "%ds" (int .Values.shutdown.delaySeconds) -}}
{{- $grace := printf "%ds" (int .Values.shutdown.graceSeconds) -}}
{{- $own := dict "listen" $listen "data" "/data" "policies" (include "arrowgate.policies" .) "shutdown" (dict "delay" $delay "grace" $grace) -}}
{{- with .Values.journal -}}
{{- $_ := set $own "journal" . -}}
{{- end -}}
{{- if .Values.audit.signingKeySecret.name -}}
{{- $_ := set $own "audit" (dict "signing_key" "/etc/arrowgate/signing/key.pem") -}}
{{- end -}}
{{- if .Values.keys.sharedSecret.name -}}
{{- $_ := set $own "keys" (dict "secret_file" "/etc/arrowgate/keys/key-secret") -}}
{{- end -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.config) $own) -}}
{{- end -}}
