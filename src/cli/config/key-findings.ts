import { resolve } from 'node:path';
import { readSigningKey, SigningKeyError } from '../../audit/signing/keys.ts';
import type { Config } from './config-table.ts';
import { openCertificate } from './listeners.ts';
import { UsageError } from '../output/service-error.ts';

/** Faults of the certificate and the signing key that a configuration names. */
export async function keyFindings(config: Config): Promise<readonly string[]> {
  const path = config['audit.signing_key'];
  const found = [
    certificateFault(config),
    path === null ? undefined : await signingKeyFault(resolve(path)),
  ];
  return found.filter((fault) => fault !== undefined);
}

function certificateFault(config: Config): string | undefined {
  try {
    const certificate = openCertificate(config);
    certificate?.close();
    return certificate?.fault;
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
}

/** Why the signing key of a file cannot be used. */
export async function signingKeyFault(path: string): Promise<string | undefined> {
  try {
    await readSigningKey(path);
    return undefined;
  } catch (error) {
    if (error instanceof SigningKeyError) return error.message;
    throw error;
  }
}
