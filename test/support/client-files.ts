import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  GetObjectCommand,
  paginateListObjectsV2,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { BUCKET_CREDENTIALS, type BucketServer } from './bucket-server.ts';

/** The files of tables, as a Lance client reads and writes them beside its requests. */
export interface ClientFiles {
  /** The key of a location, as requests name files: without the first slash, or without the bucket. */
  keyOf(location: string): string;
  /** Whether a file could be written; nothing is left of it otherwise. */
  write(key: string, bytes: Uint8Array): Promise<boolean>;
  read(key: string): Promise<Buffer>;
  /** Names of the files in a folder. */
  names(folder: string): Promise<readonly string[]>;
}

/** Files of the disk. */
export const diskFiles: ClientFiles = {
  keyOf: (location) => location.slice(1),
  read: (key) => readFile(`/${key}`),
  names: (folder) => readdir(`/${folder}`),
  async write(key, bytes) {
    const path = `/${key}`;
    try {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, bytes);
      return true;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
      await rm(path, { force: true });
      return false;
    }
  },
};

/** Objects of a bucket, on a way of their own that nothing happens to. */
export function bucketFiles({ endpoint, bucket }: BucketServer): ClientFiles {
  const { id: accessKeyId, secret: secretAccessKey } = BUCKET_CREDENTIALS;
  const client = new S3Client({
    endpoint,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId, secretAccessKey },
  });
  const at = (key: string) => ({ Bucket: bucket, Key: key });
  return {
    keyOf: (location) => location.slice(`s3://${bucket}/`.length),
    async read(key) {
      const { Body } = await client.send(new GetObjectCommand(at(key)));
      return Buffer.from((await Body?.transformToByteArray()) ?? []);
    },
    async names(folder) {
      const names: string[] = [];
      const prefix = { Bucket: bucket, Prefix: `${folder}/` };
      for await (const { Contents = [] } of paginateListObjectsV2({ client }, prefix)) {
        names.push(...Contents.map(({ Key = '' }) => Key.slice(folder.length + 1)));
      }
      return names;
    },
    async write(key, bytes) {
      await client.send(new PutObjectCommand({ ...at(key), Body: bytes }));
      return true;
    },
  };
}
