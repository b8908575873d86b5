{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* Names, labels, and other definitions that several templates share. */}}

{{- define "delaybridge.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* Cut at 50 characters, because Kubernetes appends a suffix, and a label has at most 63. */}}
{{- define "delaybridge.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $whole := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $whole .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "delaybridge.selector" -}}
app.kubernetes.io/name: {{ include "delaybridge.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "delaybridge.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "delaybridge.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "delaybridge.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "delaybridge.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "delaybridge.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The milliseconds of a duration in the bridge's form, such as 1m30s or 250ms. */}}
{{- define "delaybridge.ms" -}}
{{- $ms := 0 }}
{{- $of := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 }}
{{- if not (regexMatch "^([0-9]+(ms|s|m|h|d))+$" (toString .)) }}
{{- fail (printf "%q is no duration: 10s, 1m30s" (toString .)) }}
{{- end }}
{{- range regexFindAll "[0-9]+(ms|s|m|h|d)" (toString .) -1 }}
{{- $ms = add $ms (mul (atoi (regexFind "[0-9]+" .)) (get $of (regexFind "[a-z]+" .))) }}
{{- end }}
{{- $ms }}
{{- end }}

{{/* A duration as in the name of a level topic: 60s is 1m, 90s is 1m30s. */}}
{{- define "delaybridge.level" -}}
{{- $left := include "delaybridge.ms" . | int64 }}
{{- range $unit, $ms := dict "1d" 86400000 "2h" 3600000 "3m" 60000 "4s" 1000 "5ms" 1 }}
{{- if ge $left (int64 $ms) }}
{{- div $left $ms }}{{ substr 1 -1 $unit }}
{{- end }}
{{- $left = mod $left $ms }}
{{- end }}
{{- end }}

{{/* A value of topic_settings as text: Helm reads integers as floats, and would write 8.388608e+06. */}}
{{- define "delaybridge.topicValue" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{/* delaybridge.yaml: config of the values, with credentials as references to files. */}}
{{- define "delaybridge.config" -}}
{{- $config := deepCopy .Values.config }}
{{- $kafka := $config.kafka | default dict }}
{{- if not (index $kafka "bootstrap.servers") }}
{{- fail "config.kafka.\"bootstrap.servers\" must be set: where Kafka is" }}
{{- end }}
{{- if not $config.targets }}
{{- fail "config.targets must be set: the topics that may be delivered to" }}
{{- end }}
{{- if .Values.credentials.existingSecret }}
{{- range $property, $key := .Values.credentials.values }}
{{- $_ := set $kafka $property (dict "file" (printf "/run/secrets/delaybridge/%s" $key)) }}
{{- end }}
{{- range $property, $key := .Values.credentials.files }}
{{- $_ := set $kafka $property (printf "/run/secrets/delaybridge/%s" $key) }}
{{- end }}
{{- else if or .Values.credentials.values .Values.credentials.files }}
{{- fail "credentials.existingSecret must be set: credentials.values and .files are its keys" }}
{{- end }}
{{- $_ := set $config "kafka" $kafka }}
{{- $topics := $config.topic_settings | default dict }}
{{- range $name, $value := $topics }}
{{- if not (kindIs "invalid" $value) }}
{{- $_ := set $topics $name (include "delaybridge.topicValue" $value) }}
{{- end }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/* Longer than drain and the 5 s after it. Otherwise the pod is killed before it has released its lanes. */}}
{{- define "delaybridge.grace" -}}
{{- $drain := include "delaybridge.ms" (default "10s" .Values.config.drain) | atoi }}
{{- $least := add (div (add $drain 999) 1000) 5 }}
{{- $grace := .Values.terminationGracePeriodSeconds }}
{{- if eq (toString $grace) "" }}
{{- $grace = add $least 15 }}
{{- end }}
{{- if le (int $grace) (int $least) }}
{{- fail (printf "terminationGracePeriodSeconds %d must be more than config.drain and 5 s, %d" (int $grace) (int $least)) }}
{{- end }}
{{- int $grace }}
{{- end }}

{{/* The security contexts of each pod and container of the chart. */}}
{{- define "delaybridge.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "delaybridge.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The mounts of configuration and secrets. The volumes take (dict "root" $ "configMap" NAME "secret" NAME). */}}
{{- define "delaybridge.mounts" -}}
- {name: config, mountPath: /etc/delaybridge, readOnly: true}
{{- if .Values.credentials.existingSecret }}
- {name: secrets, mountPath: /run/secrets/delaybridge, readOnly: true}
{{- end }}
{{- end }}

{{- define "delaybridge.volumes" -}}
- name: config
  configMap: {name: {{ .configMap }}}
{{- if .root.Values.credentials.existingSecret }}
- name: secrets
  secret: {secretName: {{ .secret | default .root.Values.credentials.existingSecret }}, defaultMode: 0440}
{{- end }}
{{- end }}

{{/* The variables of the admin API. */}}
{{- define "delaybridge.adminEnv" -}}
{{- with .Values.admin }}
{{- if and .expose (not .existingSecret) }}
{{- fail "admin.existingSecret must be set: admin.expose needs a token" }}
{{- end }}
{{- if .enabled }}
- {name: DELAYBRIDGE_ADMIN, value: "{{ .expose | ternary $.Values.address "127.0.0.1" }}:{{ int .port }}"}
{{- if .existingSecret }}
- {name: DELAYBRIDGE_ADMIN_TOKEN, value: /run/secrets/delaybridge-admin/{{ .key }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* A pod that runs one command and ends: the topics job, the test. */}}
{{- define "delaybridge.oneShot" -}}
restartPolicy: Never
enableServiceLinks: false
automountServiceAccountToken: false
serviceAccountName: {{ .account }}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- include "delaybridge.podSecurity" . | nindent 2 }}
containers:
  - name: {{ .name }}
    image: {{ include "delaybridge.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{- toYaml .args | nindent 6 }}
    {{- with .root.Values.extraEnv }}
    env: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext: {{- include "delaybridge.containerSecurity" . | nindent 6 }}
    resources:
      requests: {cpu: 50m, memory: 64Mi}
      limits: {memory: 128Mi}
    volumeMounts: {{- include "delaybridge.mounts" .root | nindent 6 }}
volumes: {{- include "delaybridge.volumes" . | nindent 2 }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
