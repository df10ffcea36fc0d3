import { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
import { BucketCalls, type BucketLimits } from '../bucket/bucket-calls.ts';
import type { BucketCredentials, BucketPlace } from '../bucket/bucket-place.ts';
import { faultText } from '../bucket/bucket-fault.ts';
import { isOutage, StorageRefused } from '../storage-error.ts';

/** Bounds of the calls to a security token service. Times in ms. */
export const stsLimits: BucketLimits = {
  connections: 16,
  connect: 2_000,
  attempt: 3_000,
  deadline: 6_000,
  // A call has made several attempts, and other requests wait for the same service.
  breaker: { failures: 1, open: 5_000 },
};

/** The role that sessions have, and where it is assumed. */
export interface SessionRole extends Pick<BucketPlace, 'name' | 'region'> {
  /** Address of the security token service; null for AWS. */
  readonly endpoint: string | null;
  /** Name of the role at the service. */
  readonly arn: string;
  /** Requested duration of a session in ms. */
  readonly duration: number;
  readonly limits?: BucketLimits;
}

/** A session to begin. */
export interface NewSession {
  /** Name in the log of the service. */
  readonly name: string;
  readonly policy: string;
}

/** Credentials that end. */
export interface SessionCredentials extends BucketCredentials {
  /** Milliseconds since 1970. */
  readonly untilMillis: number;
}

/** Requests to the security token service of one object store. */
export class StsClient {
  readonly #client: STSClient;
  readonly #calls: BucketCalls;
  readonly #role: SessionRole;

  /** @param credentials Gives those of the gateway, with which it assumes the role. */
  constructor(role: SessionRole, credentials: () => Promise<BucketCredentials>) {
    const { name, region, endpoint, limits = stsLimits } = role;
    this.#role = role;
    this.#client = new STSClient({
      region,
      ...(endpoint === null ? {} : { endpoint }),
      credentials: async () => {
        const { id, secret, token } = await credentials();
        const session = token === null ? {} : { sessionToken: token };
        return { accessKeyId: id, secretAccessKey: secret, ...session };
      },
      maxAttempts: 1,
      requestHandler: { connectionTimeout: limits.connect },
    });
    const what = `the security token service of the object store ${name}`;
    const check = 'the endpoint, region and credentials of the store, and its key vend';
    this.#calls = new BucketCalls({ what, check }, limits);
  }

  /**
   * Credentials of a session with the rights that both the role and the policy give.
   * @throws StorageUnavailable, StorageRefused
   */
  async assume({ name, policy }: NewSession): Promise<SessionCredentials> {
    const { arn, duration } = this.#role;
    const command = new AssumeRoleCommand({
      RoleArn: arn,
      RoleSessionName: name,
      DurationSeconds: Math.floor(duration / 1000),
      Policy: policy,
    });
    const assumed = this.#calls.run(async (abortSignal) => {
      const { Credentials } = await this.#client.send(command, { abortSignal });
      const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = Credentials ?? {};
      const untilMillis = Expiration?.getTime() ?? Number.NaN;
      if (!AccessKeyId || !SecretAccessKey || !SessionToken || Number.isNaN(untilMillis)) {
        throw this.#absent('an answer without temporary credentials');
      }
      return { id: AccessKeyId, secret: SecretAccessKey, token: SessionToken, untilMillis };
    });
    return assumed.catch((error: unknown) => {
      throw isOutage(error) ? error : this.#absent(faultText(error));
    });
  }

  #absent(why: string): StorageRefused {
    const { name } = this.#role;
    return new StorageRefused(
      `the object store ${name} has no security token service at the configured endpoint: ${why}; check its key vend`,
    );
  }

  /** Closes the connections. */
  close(): void {
    this.#client.destroy();
  }
}
