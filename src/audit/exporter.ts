import type { ReadableLogRecord } from '@opentelemetry/sdk-logs';
import { recordPrefix, recordText } from './record/encoding.ts';
import type { AuditRecord } from './record/record.ts';
import { microsOf } from './record/time.ts';
import type { AuditLog } from './writer.ts';

/** Maximum number of waiting records; further records are not sent. */
const MAX_WAITING = 8192;
const BATCH_RECORDS = 512;
const DELAY_MILLIS = 1000;
export const RECORDS_EXPORT_MILLIS = 10_000;
/** Flush timeout at shutdown, in ms. */
export const RECORDS_FLUSH_MILLIS = 3000;

interface ExporterOptions {
  /** Base address of the collector (OTLP over HTTP); logs go to `/v1/logs` below it. */
  readonly endpoint: string;
  /** Version of this program. */
  readonly version: string;
  /** Called with the reason when sending starts to fail. */
  readonly failed: (error: Error | undefined) => void;
}

/** A destination that gets a copy of each record. */
interface LogExporter {
  send(instance: string, record: AuditRecord): void;
  close(): Promise<void>;
}

type Callback = (result: { readonly code: number; readonly error?: Error }) => void;

/** Opens an exporter to an OpenTelemetry collector. Loads its packages, which most services do not need. */
export async function openExporter(options: ExporterOptions): Promise<LogExporter> {
  const { LoggerProvider, BatchLogRecordProcessor } = await import('@opentelemetry/sdk-logs');
  const { OTLPLogExporter } = await import('@opentelemetry/exporter-logs-otlp-http');
  const { resourceFromAttributes } = await import('@opentelemetry/resources');
  const url = `${options.endpoint.replace(/\/+$/, '')}/v1/logs`;
  const sender = new OTLPLogExporter({ url, timeoutMillis: RECORDS_EXPORT_MILLIS });
  const watched = watch(options.failed);
  const exporter = {
    export: (logs: ReadableLogRecord[], done: Callback) => sender.export(logs, watched(done)),
    shutdown: () => sender.shutdown(),
    forceFlush: () => sender.forceFlush(),
  };
  const provider = new LoggerProvider({
    resource: resourceFromAttributes({
      'service.name': 'arrowgate',
      'service.version': options.version,
    }),
    processors: [
      new BatchLogRecordProcessor({
        exporter,
        maxQueueSize: MAX_WAITING,
        maxExportBatchSize: BATCH_RECORDS,
        scheduledDelayMillis: DELAY_MILLIS,
        exportTimeoutMillis: RECORDS_EXPORT_MILLIS,
      }),
    ],
  });
  const logger = provider.getLogger('arrowgate.audit', options.version);
  return {
    send: (instance, record) => logger.emit(logOf(instance, record)),
    close: () => withinTime(provider.shutdown()),
  };
}

/** The log with a copy of each written record to an exporter. Nothing waits for the exporter. */
export function withExporter(log: AuditLog, exporter: LogExporter): AuditLog {
  return {
    ...log,
    write: (record, durable) => {
      const written = log.write(record, durable);
      if (written === undefined) exporter.send(log.instance, record);
      return written?.then(() => exporter.send(log.instance, record));
    },
  };
}

/** The log record; its body is the audit record as JSON with the fields of the log. */
function logOf(instance: string, record: AuditRecord) {
  const { phase, decision, subject, operation, object, status } = record;
  const attributes = {
    'arrowgate.instance': instance,
    'arrowgate.phase': phase,
    'arrowgate.request_id': record.request_id,
    'arrowgate.decision_id': record.decision_id,
    'arrowgate.decision': decision,
    'arrowgate.subject': subject,
    'arrowgate.operation': operation,
    'arrowgate.object': object,
    'arrowgate.status': status,
  };
  const present = Object.entries(attributes).flatMap(([name, value]): [string, string | number][] =>
    value === null || value === undefined ? [] : [[name, value]],
  );
  return {
    eventName: 'arrowgate.audit',
    timestamp: new Date(Number(microsOf(record.time) / 1000n)),
    // INFO and WARN of the OpenTelemetry data model of logs.
    ...(decision === 'allow'
      ? { severityNumber: 9, severityText: 'INFO' }
      : { severityNumber: 13, severityText: 'WARN' }),
    body: bodyOf(instance, record),
    attributes: Object.fromEntries(present),
  };
}

/** The record as JSON without its place in the chain, which is not known yet. */
function bodyOf(instance: string, record: AuditRecord): string {
  const begun = recordPrefix(instance, 0n).replace('"sequence":0,', '');
  return `${begun}${recordText(record)}}`;
}

/** Handles the result of each transmission. */
function watch(failed: ExporterOptions['failed']): (done: Callback) => Callback {
  let fails = false;
  return (done) => (result) => {
    const failsNow = result.code !== 0;
    if (failsNow && !fails) failed(result.error);
    fails = failsNow;
    done(result);
  };
}

async function withinTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, RECORDS_FLUSH_MILLIS);
  });
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
