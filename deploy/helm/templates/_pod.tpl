{{- define "arrowgate.locked" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{- define "arrowgate.secretVariables" -}}
{{- with .Values.redis.urlSecret -}}
{{- if .name }}
- name: ARROWGATE_REDIS_URL
  valueFrom:
    secretKeyRef: { name: {{ .name }}, key: {{ .key }} }
{{- end -}}
{{- end -}}
{{- with .Values.adminKey.secret -}}
{{- if .name }}
- name: ARROWGATE_ADMIN_KEY
  valueFrom:
    secretKeyRef: { name: {{ .name }}, key: {{ .key }} }
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "arrowgate.mounts" -}}
- { name: data, mountPath: /data }
- { name: tmp, mountPath: /tmp }
- { name: config, mountPath: /etc/arrowgate/config, readOnly: true }
{{- if .Values.policy.git.repository }}
- { name: policies, mountPath: /etc/arrowgate/git, readOnly: true }
{{- else }}
- { name: policies, mountPath: /etc/arrowgate/policies, readOnly: true }
{{- end }}
{{- if .Values.tls.secret }}
- { name: tls, mountPath: /etc/arrowgate/tls, readOnly: true }
{{- end }}
{{- if .Values.tls.clientCaSecret.name }}
- { name: client-ca, mountPath: /etc/arrowgate/client-ca, readOnly: true }
{{- end }}
{{- if .Values.audit.signingKeySecret.name }}
- { name: signing, mountPath: /etc/arrowgate/signing, readOnly: true }
{{- end }}
{{- if .Values.keys.sharedSecret.name }}
- { name: keys, mountPath: /etc/arrowgate/keys, readOnly: true }
{{- end }}
{{- range $at, $secret := .Values.secretFiles }}
- { name: secret-{{ $at }}, mountPath: /etc/arrowgate/secrets/{{ $secret }}, readOnly: true }
{{- end }}
{{- end -}}

{{/* What a volume of data is claimed with. */}}
{{- define "arrowgate.claim" -}}
accessModes: [{{ .Values.persistence.accessMode }}]
{{- with .Values.persistence.storageClass }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests: { storage: {{ .Values.persistence.size }} }
{{- end -}}

{{/* A StatefulSet adds the volume `data` of each gateway. */}}
{{- define "arrowgate.volumes" -}}
{{- if not .Values.journal }}
- name: data
  {{- if .Values.persistence.enabled }}
  persistentVolumeClaim: { claimName: {{ .Values.persistence.existingClaim | default (include "arrowgate.name" .) }} }
  {{- else }}
  emptyDir: {}
  {{- end }}
{{- end }}
- name: tmp
  emptyDir: { sizeLimit: {{ .Values.tmpSize }} }
- name: config
  configMap: { name: {{ include "arrowgate.name" . }} }
- name: policies
  {{- if .Values.policy.git.repository }}
  emptyDir: {}
  {{- else if .Values.issuers.secret.name }}
  projected:
    defaultMode: 0440
    sources:
      - configMap: { name: {{ include "arrowgate.policyMap" . }} }
      - secret:
          name: {{ .Values.issuers.secret.name }}
          items: [{ key: {{ .Values.issuers.secret.key }}, path: issuers.yaml }]
  {{- else }}
  configMap: { name: {{ include "arrowgate.policyMap" . }} }
  {{- end }}
{{- if .Values.tls.secret }}
- name: tls
  secret: { secretName: {{ .Values.tls.secret }}, defaultMode: 0440 }
{{- end }}
{{- with .Values.tls.clientCaSecret }}
{{- if .name }}
- name: client-ca
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: ca.crt }] }
{{- end }}
{{- end }}
{{- with .Values.audit.signingKeySecret }}
{{- if .name }}
- name: signing
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: key.pem }] }
{{- end }}
{{- end }}
{{- with .Values.keys.sharedSecret }}
{{- if .name }}
- name: keys
  secret: { secretName: {{ .name }}, defaultMode: 0440, items: [{ key: {{ .key }}, path: key-secret }] }
{{- end }}
{{- end }}
{{- range $at, $secret := .Values.secretFiles }}
- name: secret-{{ $at }}
  secret: { secretName: {{ $secret }}, defaultMode: 0440 }
{{- end }}
{{- if and .Values.policy.git.repository .Values.policy.git.credentialsSecret }}
- name: git-credentials
  secret: { secretName: {{ .Values.policy.git.credentialsSecret }}, defaultMode: 0440 }
{{- end }}
{{- end -}}

{{/* The container of git-sync: before the gateway once, then beside it. */}}
{{- define "arrowgate.gitSync" -}}
{{- $git := .root.Values.policy.git -}}
{{- $isSsh := or (hasPrefix "ssh://" $git.repository) (hasPrefix "git@" $git.repository) -}}
- name: {{ .name }}
  image: {{ $git.image | quote }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  securityContext: {{- include "arrowgate.locked" .root | nindent 4 }}
  args:
    - --repo={{ $git.repository }}
    - --ref={{ $git.ref }}
    - --root=/git
    - --link=current
    - --depth=1
    {{- if .once }}
    - --one-time
    {{- else }}
    - --period={{ $git.period }}
    {{- end }}
    {{- if $git.credentialsSecret }}
    {{- if $isSsh }}
    - --ssh-key-file=/etc/git-secret/ssh
    - --ssh-known-hosts-file=/etc/git-secret/known_hosts
    {{- else }}
    - --password-file=/etc/git-secret/password
    {{- end }}
    {{- end }}
  {{- if and $git.credentialsSecret (not $isSsh) }}
  env:
    - name: GITSYNC_USERNAME
      valueFrom:
        secretKeyRef: { name: {{ $git.credentialsSecret }}, key: username }
  {{- end }}
  resources: {{- toYaml $git.resources | nindent 4 }}
  volumeMounts:
    - { name: policies, mountPath: /git }
    - { name: tmp, mountPath: /tmp }
    {{- if $git.credentialsSecret }}
    - { name: git-credentials, mountPath: /etc/git-secret, readOnly: true }
    {{- end }}
{{- end -}}
