{{/* The pods of both shapes: what a Deployment and a StatefulSet have in `template`. */}}
{{- define "arrowgate.template" -}}
{{- $git := .Values.policy.git -}}
metadata:
  labels:
    {{- include "arrowgate.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # A changed configuration needs a restart; a changed policy does not.
    checksum/config: {{ include "arrowgate.config" . | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  automountServiceAccountToken: false
  {{- with .Values.serviceAccountName }}
  serviceAccountName: {{ . }}
  {{- end }}
  # A Service named arrowgate would set ARROWGATE_PORT to an URL.
  enableServiceLinks: false
  # The gateway drains by itself after SIGTERM: no preStop hook is needed.
  terminationGracePeriodSeconds: {{ add (int .Values.shutdown.delaySeconds) (int .Values.shutdown.graceSeconds) 15 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- if $git.repository }}
  initContainers:
    {{- include "arrowgate.gitSync" (dict "root" . "name" "policies-first" "once" true) | nindent 4 }}
  {{- end }}
  containers:
    - name: arrowgate
      image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      securityContext: {{- include "arrowgate.locked" . | nindent 8 }}
      env:
        - name: ARROWGATE_CONFIG
          value: /etc/arrowgate/config/arrowgate.yaml
        - name: ARROWGATE_POLICIES
          value: {{ include "arrowgate.policies" . }}
        {{- include "arrowgate.secretVariables" . | nindent 8 }}
        {{- with .Values.env }}{{ toYaml . | nindent 8 }}{{ end }}
      ports:
        - { name: http, containerPort: 2333 }
        - { name: admin, containerPort: 9090 }
      startupProbe:
        httpGet: { path: /healthz, port: admin }
        periodSeconds: 2
        timeoutSeconds: 3
        # Ten minutes: a store that is rebuilt delays the start.
        failureThreshold: 300
      readinessProbe:
        httpGet: { path: /readyz, port: admin }
        periodSeconds: 2
        timeoutSeconds: 3
        failureThreshold: 2
      livenessProbe:
        httpGet: { path: /healthz, port: admin }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts: {{- include "arrowgate.mounts" . | nindent 8 }}
    {{- if $git.repository }}
    {{- include "arrowgate.gitSync" (dict "root" . "name" "policies" "once" false) | nindent 4 }}
    {{- end }}
  volumes: {{- include "arrowgate.volumes" . | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
{{- end -}}
