import { stringify } from 'yaml';
import { BUCKET_CREDENTIALS, type BucketServer } from '../../test/support/bucket-server.ts';
import { Service } from '../../test/support/service.ts';

const { id, secret } = BUCKET_CREDENTIALS;

/** What Lance clients need for the bucket itself. */
export function storageOptions({ endpoint }: BucketServer): Readonly<Record<string, string>> {
  return {
    aws_access_key_id: id,
    aws_secret_access_key: secret,
    aws_region: 'us-east-1',
    aws_endpoint: endpoint,
    allow_http: 'true',
  };
}

/** A gateway whose Lance tables and journal lie in a bucket. @param endpoint A way to the server. */
export function bucketService(
  server: BucketServer,
  redis: string,
  endpoint = server.endpoint,
): Promise<Service> {
  const url = `s3://${server.bucket}/shared`;
  const store = { name: 'lake', url, endpoint, path_style: true, credentials_env: 'LAKE' };
  const config = stringify({
    coordination: { redis },
    object_stores: [store],
    journal: 'lake:/catalog',
    locations: { managed: 'lake:/lance' },
    tables: { format: 'lance' },
  });
  return Service.start({
    config,
    variables: { LAKE_ACCESS_KEY_ID: id, LAKE_SECRET_ACCESS_KEY: secret },
  });
}
