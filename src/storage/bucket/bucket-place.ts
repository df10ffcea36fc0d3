import type { BucketLimits } from './bucket-calls.ts';

/** Where the objects of an object store are, and how it is reached. */
export interface BucketPlace {
  /** Name in the configuration, for errors. */
  readonly name: string;
  readonly bucket: string;
  /** Names before each key, with `/` between them and none at the ends; empty for the whole bucket. */
  readonly prefix: string;
  /** `http://` or `https://`; null for AWS. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Whether the bucket is in the path of requests and not in the host. */
  readonly pathStyle: boolean;
  /** Null for the default chain of the AWS SDK. */
  readonly credentials: { readonly id: string; readonly secret: string } | null;
  readonly limits?: BucketLimits;
  /** Keys of one page of a listing, at most 1000. */
  readonly page?: number;
}

/** Credentials of requests; the token is that of a role. */
export interface BucketCredentials {
  readonly id: string;
  readonly secret: string;
  readonly token: string | null;
}

/** Description of an object. */
export interface BucketHead {
  readonly bytes: number;
  readonly tag: string;
  readonly writtenMillis: number;
  /** The mark of the write that made it, if the write had one. */
  readonly mark: string | undefined;
}

/** A page of a listing. */
export interface BucketPage {
  readonly objects: readonly Listed[];
  /** Prefixes that end in the delimiter, each for all keys that begin with it. */
  readonly prefixes: readonly string[];
}

export interface Listed {
  readonly key: string;
  readonly bytes: number;
  readonly writtenMillis: number;
}

/** A multipart upload that is not complete. */
export interface BegunUpload {
  readonly key: string;
  readonly upload: string;
  /** Milliseconds since 1970. */
  readonly begunMillis: number;
}

/** A part of a multipart upload that the store has. */
export interface UploadedPart {
  readonly number: number;
  readonly tag: string;
}
