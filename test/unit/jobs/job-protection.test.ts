import { describe, expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../../src/base/index.ts';
import { JobProtection, type JobProtectionOptions } from '../../../src/jobs/index.ts';
import { KubernetesError } from '../../../src/kubernetes/index.ts';
import { createLogger, createMetrics } from '../../../src/telemetry/index.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryCluster } from '../../support/memory-cluster.ts';

const protects = { annotations: { 'fleetkeeper.dev/protects': 'trainer' } };
const complete = { conditions: [{ type: 'Complete', status: 'True' }] };

class World {
  readonly clock = new ManualClock();
  readonly cluster = new MemoryCluster();
  readonly log: string[] = [];
  readonly heard: string[] = [];
  readonly jobs: JobProtection;

  constructor(options: Partial<JobProtectionOptions> = {}) {
    this.jobs = new JobProtection({
      api: this.cluster,
      namespaces: [],
      clock: this.clock,
      random: systemRandom,
      logger: createLogger('info', { write: (line) => void this.log.push(line) }),
      metrics: createMetrics(),
      ...options,
    });
    this.jobs.listen((namespace, name) => {
      this.heard.push(`${name} ${this.jobs.answer(namespace, name)}`);
    });
    onTestFinished(() => this.jobs.stop());
  }

  async start(): Promise<this> {
    this.jobs.start();
    await this.settle();
    return this;
  }

  /** Until everything that follows from what has happened was done. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn += 1) await this.clock.advance(0);
  }

  putJob(name = 'epoch', metadata: object = protects, status: object = {}): void {
    this.cluster.put('Job', { metadata: { name, ...metadata }, status });
  }

  putPod(phase: string, name = 'epoch', metadata: object = protects): void {
    this.cluster.put('Pod', {
      metadata: { name, ...metadata },
      spec: { restartPolicy: 'Always' },
      status: { phase },
    });
  }

  task(name = 'job-epoch') {
    return this.cluster.read('ProtectedTask', name);
  }
}

describe('an annotated Job', () => {
  test('gets a task of its own that lasts until it is over', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    const job = world.cluster.read('Job', 'epoch');
    expect(world.task()).toMatchObject({
      metadata: {
        name: 'job-epoch',
        namespace: 'default',
        labels: { 'app.kubernetes.io/managed-by': 'fleetkeeper' },
        ownerReferences: [{ apiVersion: 'batch/v1', kind: 'Job', name: 'epoch', uid: job?.metadata.uid }],
      },
      spec: { serviceRef: { name: 'trainer' }, taskName: 'job-epoch', until: { jobRef: { name: 'epoch' } } },
    });
  });

  test('that was there before gets it once', async () => {
    const world = new World();
    world.putJob();
    await world.start();
    world.putJob('epoch', protects, { active: 1 });
    await world.settle();
    expect(world.cluster.writes).toEqual(['apply protectedtasks/default/job-epoch']);
  });

  test('that is over before anybody looked gets none', async () => {
    const world = new World();
    world.putJob('epoch', protects, complete);
    await world.start();
    expect(world.cluster.writes).toEqual([]);
  });

  test('keeps its task when it is over, for the engine to release', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    world.putJob('epoch', protects, complete);
    await world.settle();
    expect(world.cluster.writes).toHaveLength(1);
  });

  test('loses its task with its annotation', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    world.putJob('epoch', {});
    await world.settle();
    expect(world.task()).toBeUndefined();
  });

  test('of another service gets another task, after the old one has gone', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    const { metadata, spec } = world.task() ?? {};
    const finalizers = ['fleetkeeper.dev/cleanup'];
    world.cluster.put('ProtectedTask', { metadata: { name: 'job-epoch', ...metadata, finalizers }, spec });
    world.putJob('epoch', { annotations: { 'fleetkeeper.dev/protects': 'other' } });
    await world.settle();
    expect(world.task()).toMatchObject({
      metadata: { deletionTimestamp: expect.any(String) },
      spec: { serviceRef: { name: 'trainer' } },
    });
    world.cluster.drop('ProtectedTask', 'job-epoch');
    await world.settle();
    expect(world.task()).toMatchObject({ spec: { serviceRef: { name: 'other' } } });
    expect(world.cluster.writes.map((write) => write.split(' ')[0])).toEqual(['apply', 'remove', 'apply']);
  });

  test('that was deleted and made anew has the task of the one before removed', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    const before = world.task()?.metadata.uid;
    world.cluster.drop('Job', 'epoch');
    world.putJob();
    await world.settle();
    expect(world.task()?.metadata.uid).not.toBe(before);
    expect(world.task()?.metadata.ownerReferences?.[0]?.uid).toBe(
      world.cluster.read('Job', 'epoch')?.metadata.uid,
    );
  });

  test('gets its task again when a person deletes that', async () => {
    const world = await new World().start();
    world.putJob();
    await world.settle();
    world.cluster.drop('ProtectedTask', 'job-epoch');
    await world.settle();
    expect(world.task()).toBeDefined();
  });

  test('does not take a task that somebody else wrote', async () => {
    const world = await new World().start();
    world.cluster.put('ProtectedTask', {
      metadata: { name: 'job-epoch' },
      spec: { serviceRef: { name: 'x' } },
    });
    world.putJob();
    await world.settle();
    world.putJob('epoch', {});
    await world.settle();
    expect(world.cluster.writes).toEqual([]);
    expect(world.log.join('')).toContain('that fleetkeeper did not make');
  });

  test('of a very long name gets a task whose name fits', async () => {
    const world = await new World().start();
    const name = `${'a'.repeat(112)}.${'b'.repeat(80)}`;
    world.putJob(name);
    world.putJob(`${name}c`);
    await world.settle();
    const names = world.cluster.writes.map((write) => write.replace('apply protectedtasks/default/', ''));
    expect(new Set(names).size).toBe(2);
    for (const each of names) expect(each).toMatch(/^job-a{112}-[0-9a-f]{10}$/);
    expect(Math.max(...names.map((each) => each.length))).toBeLessThanOrEqual(128);
  });

  test('whose task is refused for a while gets it later', async () => {
    const world = await new World().start();
    world.cluster.fault = (request) =>
      request.startsWith('apply ') ? new KubernetesError('busy', { status: 503 }) : undefined;
    world.putJob();
    await world.settle();
    expect(world.task()).toBeUndefined();
    world.cluster.fault = () => undefined;
    await world.clock.advance(1000);
    expect(world.task()).toBeDefined();
    expect(world.log.filter((line) => line.includes('job not seen to'))).toHaveLength(1);
  });

  test('whose task is refused as invalid is not asked for again and again', async () => {
    const world = await new World().start();
    world.cluster.fault = (request) =>
      request.startsWith('apply ')
        ? new KubernetesError('spec.serviceRef.name is invalid', { status: 422 })
        : undefined;
    world.putJob('epoch', { annotations: { 'fleetkeeper.dev/protects': 'Not A Name' } });
    await world.clock.advance(120_000);
    expect(world.cluster.writes).toHaveLength(1);
    expect(world.log.join('')).toContain('spec.serviceRef.name is invalid');
  });

  test('is left alone by a process that only looks at Jobs', async () => {
    const world = await new World({ protects: false }).start();
    world.putJob();
    world.putPod('Running');
    await world.settle();
    expect(world.cluster.writes).toEqual([]);
  });

  test('is left alone by a process that does so in other namespaces', async () => {
    const world = await new World({ protects: (namespace) => namespace === 'elsewhere' }).start();
    world.putJob();
    world.putPod('Running');
    await world.settle();
    expect(world.cluster.writes).toEqual([]);
  });
});

describe('an annotated Pod', () => {
  test('is protected while it is not finished, and released when it is', async () => {
    const world = await new World().start();
    for (const phase of ['Pending', 'Running', 'Unknown']) {
      world.putPod(phase);
      await world.settle();
      expect(world.task('pod-epoch')?.spec).toMatchObject({
        serviceRef: { name: 'trainer' },
        released: false,
      });
    }
    world.putPod('Succeeded');
    await world.settle();
    expect(world.task('pod-epoch')?.spec).toMatchObject({ released: true });
    expect(world.cluster.writes).toHaveLength(2);
  });

  test('that has failed is released, too', async () => {
    const world = await new World().start();
    world.putPod('Running');
    await world.settle();
    world.putPod('Failed');
    await world.settle();
    expect(world.task('pod-epoch')?.spec).toMatchObject({ released: true });
  });

  test('that is gone leaves no task, though nobody looked when it went', async () => {
    const world = new World();
    const { metadata } = world.cluster.put('Pod', { metadata: { name: 'epoch' } });
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'epoch', uid: metadata.uid };
    world.cluster.put('ProtectedTask', {
      metadata: {
        name: 'pod-epoch',
        labels: { 'app.kubernetes.io/managed-by': 'fleetkeeper' },
        ownerReferences: [owner],
      },
      spec: { serviceRef: { name: 'trainer' }, released: false },
    });
    world.cluster.drop('Pod', 'epoch');
    await world.start();
    expect(world.task('pod-epoch')).toBeUndefined();
  });

  test('that is not listed yet is not taken as gone', async () => {
    const world = new World();
    world.cluster.fault = (request) =>
      request === 'list pods' ? new KubernetesError('down', { status: 500 }) : undefined;
    world.putPod('Running');
    await world.start();
    await world.clock.advance(10_000);
    expect(world.cluster.writes).toEqual([]);
  });

  test('without the annotation costs no request', async () => {
    const world = await new World().start();
    world.putPod('Running', 'other', {});
    world.putPod('Succeeded', 'other', {});
    await world.settle();
    expect(world.cluster.gets).toEqual([]);
  });
});

describe('how a Job stands', () => {
  test('is unknown until it was read, and then told', async () => {
    const world = new World();
    world.putJob('epoch', {});
    world.putJob('done', {}, complete);
    world.putJob('failed', {}, { conditions: [{ type: 'Failed', status: 'True' }] });
    world.putJob('failing', {}, { conditions: [{ type: 'FailureTarget', status: 'True' }] });
    const names = ['epoch', 'done', 'failed', 'failing', 'nobody'];
    expect(names.map((name) => world.jobs.answer('default', name))).toEqual(names.map(() => 'unknown'));
    await world.start();
    expect([...world.heard].sort()).toEqual([
      'done finished',
      'epoch running',
      'failed finished',
      'failing running',
      'nobody gone',
    ]);
  });

  test('is read again when the watch tells that it has changed', async () => {
    const world = await new World().start();
    world.putJob('epoch', {});
    world.jobs.answer('default', 'epoch');
    await world.settle();
    world.putJob('epoch', {}, complete);
    await world.settle();
    world.cluster.drop('Job', 'epoch');
    await world.settle();
    expect(world.heard).toEqual(['epoch running', 'epoch finished', 'epoch gone']);
  });

  test('is told when it ends, though nobody has asked for days', async () => {
    const world = await new World().start();
    world.putJob('epoch', {});
    world.jobs.answer('default', 'epoch');
    await world.settle();
    await world.clock.advance(100_000_000);
    world.jobs.answer('default', 'another');
    world.putJob('epoch', {}, complete);
    await world.settle();
    expect(world.heard).toContain('epoch finished');
  });

  test('is told also when Pods may not be listed', async () => {
    const world = new World();
    world.cluster.fault = (request) =>
      request === 'list pods' ? new KubernetesError('forbidden', { status: 403 }) : undefined;
    world.putJob();
    world.jobs.answer('default', 'epoch');
    await world.start();
    expect(world.heard).toEqual(['epoch running']);
    expect(world.cluster.writes).toEqual([]);
  });

  test('stays as it was known to be when it cannot be read', async () => {
    const world = await new World().start();
    world.putJob('epoch', {});
    world.jobs.answer('default', 'epoch');
    await world.settle();
    world.cluster.fault = (request) =>
      request.startsWith('get ') ? new KubernetesError('down', { status: 500 }) : undefined;
    world.putJob('epoch', {}, complete);
    await world.settle();
    expect(world.jobs.answer('default', 'epoch')).toBe('running');
    world.cluster.fault = () => undefined;
    await world.clock.advance(1000);
    expect(world.jobs.answer('default', 'epoch')).toBe('finished');
  });

  test('of a namespace that can not be listed is unknown, and others are seen to', async () => {
    const world = new World({ namespaces: ['default', 'lab'] });
    world.cluster.fault = (_request, namespace) =>
      namespace === 'lab' ? new KubernetesError('forbidden', { status: 403 }) : undefined;
    world.putJob();
    world.jobs.answer('default', 'epoch');
    world.jobs.answer('lab', 'epoch');
    await world.start();
    expect(world.task()).toBeDefined();
    expect(world.heard).toEqual(['epoch running']);
    expect(world.jobs.answer('lab', 'epoch')).toBe('unknown');
  });

  test('is not gone as long as Jobs could not be listed', async () => {
    const world = new World();
    world.cluster.fault = (request) =>
      request === 'list jobs' ? new KubernetesError('down', { status: 500 }) : undefined;
    world.jobs.answer('default', 'epoch');
    await world.start();
    await world.clock.advance(10_000);
    expect(world.jobs.answer('default', 'epoch')).toBe('unknown');
  });
});
