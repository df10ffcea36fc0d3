import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A certificate with its key: paths of PEM files. */
export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateDetails {
  readonly commonName: string;
  /** Subject alternative names as openssl writes them. */
  readonly names?: string;
  /** Who signs it; itself when absent. */
  readonly authority?: MadeCertificate;
  /** Ends in the past. */
  readonly ended?: boolean;
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

/** Makes a certificate in a folder, with the openssl command; `name` begins its files. */
export async function makeCertificate(
  folder: string,
  name: string,
  details: CertificateDetails,
): Promise<MadeCertificate> {
  const cert = join(folder, `${name}.pem`);
  const key = join(folder, `${name}.key`);
  const names = details.names ?? 'DNS:localhost,IP:127.0.0.1';
  if (details.authority === undefined && details.ended !== true) {
    await run('openssl', [
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      key,
      '-out',
      cert,
      '-days',
      '2',
      '-subj',
      `/CN=${details.commonName}`,
      '-addext',
      `subjectAltName=${names}`,
    ]);
    return { cert, key };
  }
  const request = join(folder, `${name}.csr`);
  const extensions = join(folder, `${name}.ext`);
  await writeFile(extensions, `subjectAltName=${names}\n`);
  await run('openssl', [
    'req',
    ...newKey,
    '-keyout',
    key,
    '-out',
    request,
    '-subj',
    `/CN=${details.commonName}`,
  ]);
  const { authority } = details;
  const signer =
    authority === undefined
      ? ['-signkey', key]
      : ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
  await run('openssl', [
    'x509',
    '-req',
    '-in',
    request,
    '-out',
    cert,
    '-extfile',
    extensions,
    ...signer,
    '-days',
    details.ended === true ? '0' : '2',
  ]);
  return { cert, key };
}
