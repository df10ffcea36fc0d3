import { resolve } from 'node:path';
import { readPublicKey, type PublicKey } from '../../audit/signing/keys.ts';
import { readKeyLinks, withLinked } from '../../audit/signing/links.ts';
import type { Config } from '../config/config-table.ts';
import { checkEvidence, type CheckedEvidence } from '../evidence/evidence-check.ts';
import type { Run } from '../output/output.ts';
import { UsageError } from '../output/service-error.ts';
import { dataFolderOf } from '../service/data-folder.ts';
import type { VerifyFlags } from './audit-verify.ts';

/** Does `arrowgate audit verify --evidence`, which needs no data folder. @throws UsageError, SigningKeyError */
export async function verifyEvidence(
  config: Config,
  dir: string,
  flags: VerifyFlags,
  run: Run,
): Promise<void> {
  if (flags.anchor !== undefined) {
    throw new UsageError('--anchor is about the log: leave it out where --evidence is given');
  }
  const checked = await checkEvidence(resolve(dir), await trustedKeys(config, flags));
  if (checked.findings.length > 0) run.code = 1;
  run.output.line(flags.json === true ? JSON.stringify(checked) : textOf(checked));
}

/** The keys of the flag, or the configured one with those that it is linked with. */
async function trustedKeys(
  config: Config,
  { publicKey }: VerifyFlags,
): Promise<readonly PublicKey[]> {
  const configured = config['audit.signing_key'];
  const paths = publicKey ?? (configured === null ? [] : [configured]);
  const keys = await Promise.all(paths.map((path) => readPublicKey(resolve(path))));
  return keys.length === 0
    ? []
    : withLinked(keys, await readKeyLinks(dataFolderOf(config).keyLinks));
}

function textOf({ folder, files, findings, signature, unknown }: CheckedEvidence): string {
  const faults =
    findings.length === 0
      ? 'nothing is wrong'
      : `${findings.length} ${findings.length === 1 ? 'finding' : 'findings'}`;
  return [
    ...findings.map(({ file, kind, text }) => `${file}: ${kind}: ${text}`),
    ...(signature === null ? [] : [`signed at ${signature.time} by the key ${signature.key}`]),
    ...unknown.map((sentence) => `cannot be known: ${sentence}`),
    `compared ${files} files of ${folder} with their digests: ${faults}`,
  ].join('\n');
}
