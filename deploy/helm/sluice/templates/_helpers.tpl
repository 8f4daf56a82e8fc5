{{- define "sluice.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* What selects the pods of a component: (list . "edge"). */}}
{{- define "sluice.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{- define "sluice.labels" -}}
{{- $root := index . 0 -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ $root.Values.image.tag | default $root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "sluice.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{- end -}}
{{- end -}}
{{- end -}}

{{/* More than one control plane: yes or nothing. */}}
{{- define "sluice.cluster" -}}
{{- if gt (int .Values.control.replicas) 1 -}}yes{{- end -}}
{{- end -}}

{{/* The addresses of the control planes, for edges. */}}
{{- define "sluice.controlPlanes" -}}
{{- $name := include "sluice.fullname" . -}}
{{- if include "sluice.cluster" . -}}
{{- $urls := list -}}
{{- range $i := until (int .Values.control.replicas) -}}
{{- $urls = append $urls (printf "https://%s-control-%d.%s-control:7301" $name $i $name) -}}
{{- end -}}
{{- join "," $urls -}}
{{- else -}}
https://{{ $name }}-control:7301
{{- end -}}
{{- end -}}

{{/* What is the same in each pod: (list . user). */}}
{{- define "sluice.pod" -}}
{{- $root := index . 0 -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with $root.Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "sluice.podSecurity" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ index . 0 }}
  runAsGroup: {{ index . 0 }}
  {{- if index . 1 }}
  fsGroup: {{ index . 0 }}
  {{- end }}
  seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "sluice.containerSecurity" -}}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end -}}

{{- define "sluice.spread" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" . | nindent 8 }}
{{- end -}}

{{/* Where the pods of control or edge may run. */}}
{{- define "sluice.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A variable of a secret: (list NAME ref). */}}
{{- define "sluice.secretEnv" -}}
{{- $ref := index . 1 -}}
- name: {{ index . 0 }}
  valueFrom: {secretKeyRef: {name: {{ $ref.name }}, key: {{ $ref.key }}{{ if $ref.optional }}, optional: true{{ end }}}}
{{- end -}}

{{/* What values.schema.json cannot say. */}}
{{- define "sluice.check" -}}
{{- if not .Values.publicURL -}}
{{- fail "publicURL is empty: give the https:// URL at which callers reach the gateway, as with --set publicURL=https://tools.example.com" -}}
{{- end -}}
{{- if include "sluice.cluster" . -}}
{{- if not .Values.control.registry -}}
{{- fail (printf "control.registry is empty: %d control planes keep their artifacts in a registry that all reach, as with --set control.registry=oci://registry.example/team/sluice; or set control.replicas=1" (int .Values.control.replicas)) -}}
{{- end -}}
{{- if not (or .Values.database.bundled .Values.database.urlSecret.name) -}}
{{- fail "database: more than one control plane needs a PostgreSQL: set database.bundled=true, or database.urlSecret.name to a secret with its URL" -}}
{{- end -}}
{{- end -}}
{{- if and .Values.database.bundled .Values.database.urlSecret.name -}}
{{- fail "database: both bundled and urlSecret.name are set: set database.bundled=false to use the server in the secret" -}}
{{- end -}}
{{- if and .Values.state.bundled .Values.state.urlSecret.name -}}
{{- fail "state: both bundled and urlSecret.name are set: set state.bundled=false to use the server in the secret" -}}
{{- end -}}
{{- if not (or .Values.edge.secrets.tls .Values.edge.behindProxy) -}}
{{- fail "edge: the gateway does not listen without TLS: name a secret with its certificate in edge.secrets.tls, or the networks of a proxy that speaks TLS in edge.behindProxy" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) -}}
{{- fail "ingress.hosts is empty: name the host of publicURL, as with --set 'ingress.hosts={tools.example.com}'" -}}
{{- end -}}
{{- if gt (int .Values.edge.autoscaling.minReplicas) (int .Values.edge.autoscaling.maxReplicas) -}}
{{- fail "edge.autoscaling: minReplicas is more than maxReplicas" -}}
{{- end -}}
{{- end -}}
