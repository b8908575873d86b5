{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{/* The bridge's pod. In a StatefulSet it also has a group.instance.id. */}}
{{- define "delaybridge.pod" -}}
metadata:
  annotations:
    checksum/config: {{ include "delaybridge.config" . | sha256sum }}
    {{- with merge (deepCopy .Values.podAnnotations) .Values.commonAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "delaybridge.selector" . | nindent 4 }}
    app.kubernetes.io/component: bridge
    {{- with merge (deepCopy .Values.podLabels) .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  enableServiceLinks: false
  automountServiceAccountToken: false
  serviceAccountName: {{ include "delaybridge.serviceAccount" . }}
  terminationGracePeriodSeconds: {{ include "delaybridge.grace" . }}
  {{- with .Values.image.pullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext: {{- include "delaybridge.podSecurity" . | nindent 4 }}
  containers:
    - name: delaybridge
      image: {{ include "delaybridge.image" . }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: {{- include "delaybridge.runArgs" . | nindent 8 }}
      env:
        - {name: DELAYBRIDGE_LISTEN, value: "{{ .Values.address }}:{{ int .Values.port }}"}
        {{- include "delaybridge.adminEnv" . | nindent 8 }}
        {{- if eq .Values.kind "StatefulSet" }}
        {{- $session := include "delaybridge.ms" .Values.statefulSet.sessionTimeout | quote }}
        - name: DELAYBRIDGE_KAFKA_GROUP_INSTANCE_ID
          valueFrom: {fieldRef: {fieldPath: metadata.name}}
        - {name: DELAYBRIDGE_KAFKA_SESSION_TIMEOUT_MS, value: {{ $session }}}
        - {name: DELAYBRIDGE_KAFKA_MAX_POLL_INTERVAL_MS, value: {{ $session }}} # must not be shorter than the session
        {{- end }}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .Values.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: metrics, containerPort: {{ int .Values.port }}}
        {{- if .Values.admin.enabled }}
        - {name: admin, containerPort: {{ int .Values.admin.port }}}
        {{- end }}
      {{- with .Values.startupProbe }}
      startupProbe:
        httpGet: {path: /livez, port: metrics}
        {{- toYaml . | nindent 8 }}
      {{- end }}
      livenessProbe:
        httpGet: {path: /livez, port: metrics}
        {{- toYaml .Values.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        {{- toYaml .Values.readinessProbe | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      securityContext: {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts: {{- include "delaybridge.mounts" . | nindent 8 }}
        {{- if and .Values.admin.enabled .Values.admin.existingSecret }}
        - {name: admin, mountPath: /run/secrets/delaybridge-admin, readOnly: true}
        {{- end }}
  volumes: {{- include "delaybridge.volumes" (dict "root" . "configMap" (include "delaybridge.fullname" .)) | nindent 4 }}
    {{- if and .Values.admin.enabled .Values.admin.existingSecret }}
    - name: admin
      secret: {secretName: {{ .Values.admin.existingSecret }}, defaultMode: 0440}
    {{- end }}
  {{- if .Values.topologySpread.enabled }}
  topologySpreadConstraints:
    {{- range .Values.topologySpread.topologyKeys }}
    - maxSkew: {{ int $.Values.topologySpread.maxSkew }}
      topologyKey: {{ . }}
      whenUnsatisfiable: {{ $.Values.topologySpread.whenUnsatisfiable }}
      labelSelector:
        matchLabels:
          {{- include "delaybridge.selector" $ | nindent 10 }}
          app.kubernetes.io/component: bridge
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* With Strimzi the pods exist before their topics. */}}
{{- define "delaybridge.runArgs" -}}
{{- $wait := .Values.topics.wait | default (ternary "5m" "0s" (eq .Values.topics.mode "strimzi")) }}
- run
{{- if ne (include "delaybridge.ms" $wait) "0" }}
- --wait-for-topics
- {{ $wait }}
{{- end }}
{{- end }}

{{/* The annotation of Stakater's Reloader, which restarts the pods when one of these Secrets changes. */}}
{{- define "delaybridge.reloader" -}}
{{- $names := list }}
{{- range include "delaybridge.secrets" . | fromYamlArray }}
{{- $names = append $names .name }}
{{- end }}
{{- if and .Values.admin.enabled .Values.admin.existingSecret }}
{{- $names = append $names .Values.admin.existingSecret }}
{{- end }}
{{- if and .Values.reloader $names }}
secret.reloader.stakater.com/reload: {{ $names | uniq | join "," | quote }}
{{- end }}
{{- end }}
