import { resolve } from 'node:path';
import type { Logger } from 'pino';
import type { AuditLog } from '../../audit/writer.ts';
import { Console } from '../../console/console.ts';
import { PolicyDesk } from '../../console/policy/desk.ts';
import { Sessions } from '../../console/sessions/sessions.ts';
import { Trail } from '../../console/trail/trail.ts';
import type { Certificate } from '../../gateway/http/certificate.ts';
import type { KeyBook } from '../../gateway/identity/key-book.ts';
import type { PolicyAgreement } from '../../gateway/policy-agreement.ts';
import type { Engine } from '../../engine/engine.ts';
import { openNotes } from '../../store/open/open-store.ts';
import type { Config } from '../config/config-table.ts';
import type { ArchivedLogs } from './audit-archive.ts';
import { storeOf, type DataFolder } from './data-folder.ts';
import { integrityWork } from './integrity-work.ts';
import type { Opened } from './opened.ts';
import { actRecorder } from './recorded-command.ts';
import type { CatalogAccess } from '../../console/catalog-access.ts';
import type { Upkeep } from '../../engine/upkeep.ts';
import { CatalogError } from '../../protocol/errors.ts';

interface ConsoleParts {
  readonly config: Config;
  readonly log: Logger;
  readonly opened: Opened;
  readonly certificate: Certificate | undefined;
}

/** What the console shows and changes. */
interface ConsoleServices {
  readonly audit: Pick<AuditLog, 'write'>;
  readonly engine: Engine;
  readonly book: KeyBook;
  readonly agreement: PolicyAgreement;
  /** The audit logs of other gateways, if there is an archive. */
  readonly others: ArchivedLogs['logs'] | undefined;
}

const DESK_THREAD = new URL('../../../dist/cli/service/policy-desk-thread.js', import.meta.url);

/** The review console. */
export function openConsole(
  { config, log, opened, certificate }: ConsoleParts,
  folder: DataFolder,
  { audit, engine, book, agreement, others }: ConsoleServices,
): Console {
  const console = new Console({
    sessions: new Sessions(() => openNotes(storeOf(config, folder), 'sessions')),
    trail: new Trail({
      folder: folder.audit,
      ...(others && { prepare: others.prepare }),
      failed: (error) => log.error({ err: error }, 'the console cannot read the audit log'),
    }),
    keys: { book, act: actRecorder(audit) },
    integrity: integrityWork(config),
    facts: {
      gateways: () => agreement.policies,
      certificateEnds: () => certificate?.expires,
    },
    catalog: catalogAccess(engine, config['drop.retention']),
    desk: new PolicyDesk({
      thread: DESK_THREAD,
      keys: () => book.read(),
      places: {
        data: folder.root,
        audit: folder.audit,
        policies: resolve(config.policies),
        certificates: config['listen.tls.client_ca'] !== null,
      },
      failed: (error) => log.error({ err: error }, 'the console cannot look at the policy'),
    }),
  });
  opened.add(() => console.close());
  return console;
}

/** The latest moment that a date can stand for. */
const LAST_MILLIS = 8_640_000_000_000_000;

/** The catalog as the console uses it. @param retentionMillis How long a dropped table is kept for certain. */
function catalogAccess(engine: Engine, retentionMillis: number): CatalogAccess {
  const upkeepOf = async (): Promise<Upkeep> => {
    if (engine.upkeep !== null) return engine.upkeep;
    const why = (await engine.backend.health()) ?? 'it is only read now';
    throw new CatalogError('ServiceUnavailable', `the catalog is unavailable: ${why}`);
  };
  return {
    dropped: async () => {
      const found = await (await upkeepOf()).dropped.list();
      return found.map(({ id, path, droppedMillis }) => {
        const untilMillis = Math.min(droppedMillis + retentionMillis, LAST_MILLIS);
        return { id, path, droppedMillis, untilMillis };
      });
    },
    undrop: async (path, id, as) => {
      await (await upkeepOf()).dropped.undrop(path, id, as);
    },
    judgePast: async (table, rules, signal) =>
      (await upkeepOf()).judgePast({ table, rules, signal }),
  };
}
