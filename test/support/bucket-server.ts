import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { silenceSdk } from '../../src/cli/config/config-environment.ts';
import type { BucketPlace } from '../../src/storage/bucket/bucket-place.ts';
import { pythonFault, pythonWithBuckets } from './client-packages.ts';
import { eventually } from './eventually.ts';
import { freePort } from './free-port.ts';

silenceSdk();

/** Whether S3 servers can be run. Says loudly when they cannot; that is an error for `npm run test:bucket`. */
export const hasBuckets: boolean = looksForPython();

function looksForPython(): boolean {
  const fault = pythonFault();
  if (fault === undefined) return true;
  const sentence = `object stores cannot be tested: ${fault}`;
  if (process.env['ARROWGATE_TEST_BUCKETS'] === 'all') throw new Error(sentence);
  const line = '*'.repeat(72);
  process.stderr.write(`${line}\narrowgate: OBJECT STORES ARE NOT TESTED: ${fault}\n${line}\n`);
  return false;
}

const MOTO = fileURLToPath(new URL('moto_server.py', import.meta.url));

/** Credentials of the servers. */
export const BUCKET_CREDENTIALS = { id: 'arrowgate', secret: 'a-secret-of-the-tests' };
/** The same as variables of the environment, for a store whose `credentials_env` is LAKE. */
export const BUCKET_VARIABLES = {
  LAKE_ACCESS_KEY_ID: BUCKET_CREDENTIALS.id,
  LAKE_SECRET_ACCESS_KEY: BUCKET_CREDENTIALS.secret,
};

/** The role whose sessions SeaweedFS gives. */
export const BUCKET_ROLE = 'arn:aws:iam::000000000000:role/lake';

/** How often a server is started, at most. */
const MOST_STARTS = 4;

/** The servers that tests run. */
export type BucketServerKind = 'seaweedfs' | 'moto';

/** An S3 server on a folder of its own, with one bucket. */
export class BucketServer {
  readonly endpoint: string;
  readonly bucket = 'lake';
  readonly #folder: string;
  readonly #run: () => ChildProcess;
  #child: ChildProcess;

  private constructor(port: number, run: () => ChildProcess, folder: string) {
    this.endpoint = `http://127.0.0.1:${port}`;
    this.#run = run;
    this.#child = run();
    this.#folder = folder;
  }

  /**
   * Starts again on other ports if it ends: somebody may have taken one since it was found free.
   * @param longest Most seconds of a session of SeaweedFS, whatever is requested.
   * @throws Error when Python or the server's package cannot be had
   */
  static async start(kind: BucketServerKind, longest = 43_200): Promise<BucketServer> {
    for (let starts = 1; ; starts++) {
      const server = await BucketServer.#started(kind, longest);
      if (await eventually(() => server.#makeBucket())) return server;
      await server.stop();
      if (starts === MOST_STARTS) throw new Error('the S3 server did not start');
    }
  }

  static async #started(kind: BucketServerKind, longest: number): Promise<BucketServer> {
    const python = await pythonWithBuckets();
    const folder = await mkdtemp(join(tmpdir(), 'arrowgate-bucket-'));
    const port = await freePort();
    const run =
      kind === 'moto' ? () => startMoto(python, port) : await weedIn(python, folder, port, longest);
    return new BucketServer(port, run, folder);
  }

  /** A place in the bucket that nothing else uses. */
  place(more: Partial<BucketPlace> = {}): BucketPlace {
    return {
      name: 'lake',
      bucket: this.bucket,
      prefix: `test/${randomUUID()}`,
      endpoint: this.endpoint,
      region: 'us-east-1',
      pathStyle: true,
      credentials: BUCKET_CREDENTIALS,
      ...more,
    };
  }

  /** The store as an entry of `object_stores`; its credentials are `BUCKET_VARIABLES`. */
  setting(more: object = {}): object {
    const { bucket, endpoint } = this;
    const url = `s3://${bucket}/tables`;
    return { name: 'lake', url, endpoint, path_style: true, credentials_env: 'LAKE', ...more };
  }

  /** Ends the server; its objects stay. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill(signal);
    await ended;
  }

  /** Stops it in the middle of what it does; its connections stay. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /**
   * Starts the server again, with the same address and objects; anew whenever it ends, as somebody may have had one of its
   * ports meanwhile.
   */
  async restart(): Promise<void> {
    this.#child = this.#run();
    await eventually(async () => {
      if (await this.#makeBucket()) return;
      this.#child = this.#run();
      throw new Error('the S3 server ended');
    });
  }

  async stop(): Promise<void> {
    await this.end('SIGKILL');
    await rm(this.#folder, { recursive: true, force: true });
  }

  /** False if the server has ended. @throws Error while it does not answer */
  async #makeBucket(): Promise<boolean> {
    if (this.#child.exitCode !== null) return false;
    const { id, secret } = BUCKET_CREDENTIALS;
    const client = new S3Client({
      endpoint: this.endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: id, secretAccessKey: secret },
      maxAttempts: 1,
    });
    try {
      await client.send(new CreateBucketCommand({ Bucket: this.bucket }));
    } catch (error) {
      if (!(error instanceof Error && error.name.startsWith('BucketAlready'))) throw error;
    } finally {
      client.destroy();
    }
    return true;
  }
}

function startMoto(python: string, port: number): ChildProcess {
  return spawn(python, [MOTO, String(port)], { stdio: 'ignore' });
}

async function weedIn(
  python: string,
  folder: string,
  port: number,
  longest: number,
): Promise<() => ChildProcess> {
  const { id, secret } = BUCKET_CREDENTIALS;
  const identity = {
    name: 'admin',
    credentials: [{ accessKey: id, secretKey: secret }],
    actions: ['Admin', 'Read', 'Write', 'List', 'Tagging'],
  };
  const config = join(folder, 's3.json');
  await writeFile(config, JSON.stringify({ identities: [identity] }));
  const roles = join(folder, 'iam.json');
  await writeFile(roles, JSON.stringify(sessionsOf(longest)));
  const ports = await Promise.all(
    ['master', 'volume', 'filer', 'webdav', 'admin'].map(async (part) => [part, await freePort()]),
  );
  const flags = ports.map(([part, free]) => `-${part}.port=${free}`);
  const program = join(dirname(python), 'weed');
  const own = [
    `-dir=${folder}`,
    '-ip=127.0.0.1',
    `-s3.port=${port}`,
    // Servers that no test asks: each ends all of them when its port is taken.
    '-s3.port.iceberg=0',
    '-s3.port.lance=0',
    `-s3.config=${config}`,
    `-s3.iam.config=${roles}`,
  ];
  return () => spawn(program, ['mini', ...own, ...flags], { stdio: 'ignore', cwd: folder });
}

/** One role with all rights, which anyone may assume who has credentials: sessions narrow it. */
function sessionsOf(longest: number): object {
  const allow = { Effect: 'Allow', Action: ['s3:*'], Resource: ['*'] };
  const assumed = { Effect: 'Allow', Principal: { AWS: '*' }, Action: ['sts:AssumeRole'] };
  const document = (statement: object) => ({ Version: '2012-10-17', Statement: [statement] });
  return {
    sts: {
      tokenDuration: '1h',
      maxSessionLength: `${longest}s`,
      issuer: 'seaweedfs-sts',
      signingKey: randomBytes(32).toString('base64'),
    },
    policy: { defaultEffect: 'Deny', storeType: 'memory' },
    policies: [{ name: 'LakeAll', document: document(allow) }],
    roles: [
      {
        roleName: 'lake',
        roleArn: BUCKET_ROLE,
        trustPolicy: document(assumed),
        attachedPolicies: ['LakeAll'],
      },
    ],
  };
}
