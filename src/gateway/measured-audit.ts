import type { AuditLog } from '../audit/writer.ts';
import type { Metrics } from './metrics.ts';

const MILLIS = 1000;

/** An audit log whose writes are counted. */
export function measuredAudit(audit: AuditLog, metrics: Metrics): AuditLog {
  return {
    write: (record, durable) => {
      const start = durable ? performance.now() : 0;
      const written = audit.write(record, durable);
      if (written === undefined) {
        metrics.count('auditWrites', 'ok');
        return undefined;
      }
      return written.then(
        () => {
          metrics.count('auditWrites', 'ok');
          if (durable) metrics.flushed((performance.now() - start) / MILLIS);
        },
        (error: unknown) => {
          metrics.count('auditWrites', 'failed');
          throw error;
        },
      );
    },
    instance: audit.instance,
    healthy: () => audit.healthy(),
    weakness: () => audit.weakness(),
    close: () => audit.close(),
  };
}
