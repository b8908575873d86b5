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
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The annotations of an object, or nothing. Takes (list $ MAP...): the first map that has a key wins. Those of all
objects come last. */}}
{{- define "delaybridge.annotations" -}}
{{- $root := first . }}
{{- $all := dict }}
{{- range append (rest .) $root.Values.commonAnnotations }}
{{- $all = merge $all (deepCopy (. | default dict)) }}
{{- end }}
{{- with $all }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
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

{{/* The Secrets of Kafka, as a list: volume, name, path, values, files. */}}
{{- define "delaybridge.secrets" -}}
{{- $all := list }}
{{- with .Values.credentials }}
{{- if .existingSecret }}
{{- $all = append $all (dict "volume" "secrets" "name" .existingSecret "path" "/run/secrets/delaybridge" "values" .values "files" .files) }}
{{- end }}
{{- range $n, $secret := .secrets }}
{{- $all = append $all (dict "volume" (printf "secrets-%d" $n) "name" $secret.name "path" (printf "/run/secrets/kafka/%s" $secret.name)
      "values" ($secret.values | default dict) "files" ($secret.files | default dict)) }}
{{- end }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/* Fails if two Secrets set one property. Takes (list DICT PROPERTY). */}}
{{- define "delaybridge.once" -}}
{{- $given := first . }}
{{- $property := last . }}
{{- if hasKey $given $property }}
{{- fail (printf "credentials: %s is set twice" $property) }}
{{- end }}
{{- $_ := set $given $property true }}
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
{{- if and (not .Values.credentials.existingSecret) (or .Values.credentials.values .Values.credentials.files) }}
{{- fail "credentials.existingSecret must be set: credentials.values and .files are its keys" }}
{{- end }}
{{- $given := dict }}
{{- range include "delaybridge.secrets" . | fromYamlArray }}
{{- $path := .path }}
{{- range $property, $key := .values }}
{{- $_ := set $kafka $property (dict "file" (printf "%s/%s" $path $key)) }}
{{- include "delaybridge.once" (list $given $property) }}
{{- end }}
{{- range $property, $key := .files }}
{{- $_ := set $kafka $property (printf "%s/%s" $path $key) }}
{{- include "delaybridge.once" (list $given $property) }}
{{- end }}
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

{{/* "true" on OpenShift, whose restricted SCC chooses user, group and fsGroup. */}}
{{- define "delaybridge.openshift" -}}
{{- if eq (toString .Values.openshift) "auto" }}
{{- .Capabilities.APIVersions.Has "security.openshift.io/v1" }}
{{- else }}
{{- .Values.openshift }}
{{- end }}
{{- end }}

{{/* The security context of each pod of the chart. */}}
{{- define "delaybridge.podSecurity" -}}
{{- $context := deepCopy .Values.podSecurityContext }}
{{- if eq (include "delaybridge.openshift" .) "true" }}
{{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" }}
{{- end }}
{{- toYaml $context }}
{{- end }}

{{/* The mounts of configuration and Secrets. The volumes take (dict "root" $ "configMap" NAME "secret" NAME). */}}
{{- define "delaybridge.mounts" -}}
- {name: config, mountPath: /etc/delaybridge, readOnly: true}
{{- range include "delaybridge.secrets" . | fromYamlArray }}
- {name: {{ .volume }}, mountPath: {{ .path }}, readOnly: true}
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "delaybridge.volumes" -}}
{{- $other := .secret }}
- name: config
  configMap: {name: {{ .configMap }}}
{{- range include "delaybridge.secrets" .root | fromYamlArray }}
- name: {{ .volume }}
  secret: {secretName: {{ ternary $other .name (and (eq .volume "secrets") (not (empty $other))) }}, defaultMode: 0440}
{{- end }}
{{- with .root.Values.extraVolumes }}
{{ toYaml . }}
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
securityContext: {{- include "delaybridge.podSecurity" .root | nindent 2 }}
containers:
  - name: {{ .name }}
    image: {{ include "delaybridge.image" .root }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    args: {{- toYaml .args | nindent 6 }}
    {{- with .root.Values.extraEnv }}
    env: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .root.Values.envFrom }}
    envFrom: {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext: {{- toYaml .root.Values.securityContext | nindent 6 }}
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
