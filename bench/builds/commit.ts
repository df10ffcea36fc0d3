import { RedisServer } from '../../test/support/redis-server.ts';
import { ADMIN_KEY, type Service } from '../../test/support/service.ts';
import { LanceModel } from '../commit/manifests.ts';
import { ServiceSide } from '../commit/service-side.ts';
import { commitsPerSecond, type Work } from '../commit/work.ts';
import type { Build, Measurement, OpenArea } from './area.ts';

/** CreateTableVersion on both stores, each with a service of its own. */
export async function openCommit(build: Build, quick: boolean): Promise<OpenArea> {
  const model = await LanceModel.make();
  const redis = await RedisServer.start();
  const embedded = openStore(await build.start(), 'embedded', model, quick);
  const shared = openStore(
    await build.start({ flags: ['--redis', redis.url] }),
    'Redis',
    model,
    quick,
  );
  return {
    measurements: [...embedded.measurements, ...shared.measurements],
    close: async () => {
      await embedded.close();
      await shared.close();
      await redis.stop();
      await model.remove();
    },
  };
}

function openStore(service: Service, store: string, model: LanceModel, quick: boolean): OpenArea {
  const side = new ServiceSide(service.url, ADMIN_KEY, model);
  return {
    measurements: measurementsOf(side, store, quick),
    close: async () => {
      side.close();
      await service.stop();
    },
  };
}

function measurementsOf(side: ServiceSide, store: string, quick: boolean): readonly Measurement[] {
  const many: Work = { clients: 64, commits: quick ? 2 : 12 };
  const one: Work = { clients: 1, commits: quick ? 20 : 150 };
  return [
    {
      work: `64 clients on 64 tables, ${store}`,
      unit: '/s',
      measure: () => commitsPerSecond(side, many),
    },
    {
      work: `one client on one table, ${store}`,
      unit: '/s',
      measure: () => commitsPerSecond(side, one),
    },
  ];
}
