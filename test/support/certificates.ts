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
    const subject = ['-subj', `/CN=${details.commonName}`, '-addext', `subjectAltName=${names}`];
    const output = ['-keyout', key, '-out', cert, '-days', '2'];
    await run('openssl', ['req', '-x509', ...newKey, ...output, ...subject]);
    return { cert, key };
  }
  const request = join(folder, `${name}.csr`);
  const extensions = join(folder, `${name}.ext`);
  await writeFile(extensions, `subjectAltName=${names}\n`);
  const asked = ['-keyout', key, '-out', request, '-subj', `/CN=${details.commonName}`];
  await run('openssl', ['req', ...newKey, ...asked]);
  const { authority } = details;
  const signer =
    authority === undefined
      ? ['-signkey', key]
      : ['-CA', authority.cert, '-CAkey', authority.key, '-CAcreateserial'];
  const made = ['-in', request, '-out', cert, '-extfile', extensions];
  const days = details.ended === true ? '0' : '2';
  await run('openssl', ['x509', '-req', ...made, ...signer, '-days', days]);
  return { cert, key };
}
