import { resolve } from 'node:path';
import { addKeyLink, readKeyLinks } from '../../audit/signing/links.ts';
import { readSigningKey, replaceSigningKey, type SigningKey } from '../../audit/signing/keys.ts';
import type { Config } from '../config/config-table.ts';
import { dataFolderOf, openedForReading } from '../service/data-folder.ts';
import { recorded } from '../service/recorded-command.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';

/** Flags of `audit rotate-key`. */
export interface RotateKeyFlags {
  readonly json?: boolean;
  readonly from?: string;
  readonly to?: string;
}

interface Rotated {
  readonly old: string;
  readonly next: string;
  readonly publicKey: string;
}

/**
 * Does `arrowgate audit rotate-key`: the old key signs for the new one, and the new one for
 * the old. Without `--to` a new key replaces that of the data folder.
 * @throws UsageError, SigningKeyError
 */
export async function rotateAuditKey(
  config: Config,
  flags: RotateKeyFlags,
  run: Run,
): Promise<void> {
  await openedForReading(config);
  const rotated = await recorded(config, { operation: 'AuditRotateKey', details: {} }, async () => {
    const result = await rotate(config, flags);
    return { result, details: { old: result.old, next: result.next } };
  });
  run.output.line(flags.json === true ? JSON.stringify(rotated) : textOf(rotated));
}

async function rotate(config: Config, { from, to }: RotateKeyFlags): Promise<Rotated> {
  const folder = dataFolderOf(config);
  const configured = config['audit.signing_key'];
  const old = await readSigningKey(resolve(from ?? configured ?? folder.signingKey));
  const link = (next: SigningKey) => addKeyLink(folder.keyLinks, old, next);
  const target = to ?? (from === undefined ? undefined : (configured ?? folder.signingKey));
  if (target === undefined && configured !== null) {
    throw new UsageError(
      `audit.signing_key is ${configured}, which this command does not replace: make a new key, name it with --to, and set audit.signing_key to it`,
    );
  }
  if (target === undefined) {
    return rotatedTo(old, await replaceSigningKey(folder.signingKey, link));
  }
  const next = await readSigningKey(resolve(target));
  const links = await readKeyLinks(folder.keyLinks);
  const isKnown = links.some(
    (each) => each.old.id === old.public.id && each.next.id === next.public.id,
  );
  if (!isKnown) await link(next);
  return rotatedTo(old, next);
}

function rotatedTo(old: SigningKey, next: SigningKey): Rotated {
  return { old: old.public.id, next: next.public.id, publicKey: next.public.pem };
}

function textOf({ old, next, publicKey }: Rotated): string {
  return [
    `the key ${next} follows ${old}; gateways sign with it from their next start on`,
    'keep this public key where the data folder is not, for audit verify --public-key:',
    publicKey.trimEnd(),
  ].join('\n');
}
