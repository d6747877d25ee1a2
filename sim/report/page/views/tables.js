// The report's tables.
import { element, long_table, more, table } from '../dom.js';
import { bandwidth, bytes, number, percent, resource, seconds } from '../format.js';

export function collectives(report) {
  if (!report.collectives.length) return element('p', {}, 'The step communicates nothing.');
  return long_table('Collectives, each as its busiest rank sees it; bus bandwidth as nccl-tests defines it',
    [['collective', 'left'], ['operation', 'left'], ['dimension', 'left'], ['algorithm', 'left'], ['GPUs'], ['calls'], ['bytes a rank'], ['busy'], ['exposed'], ['wait'], ['bus bandwidth']],
    report.collectives.map((c) => [c.name, c.op.replace(/_/g, ' '), c.dimension, c.algorithm.replace(/_/g, ' '), number(c.group_size), number(c.count), bytes(c.bytes_per_rank),
      seconds(c.busy_s), seconds(c.exposed_s), seconds(c.wait_s), c.busy_s > 0 ? bandwidth(c.bus_bandwidth_Bps) : '–']));
}

export function overlap(report) {
  if (!report.overlap?.length) return null;
  return long_table('What communication costs: mean of all GPUs; slack is the mean of the calls',
    [['communication', 'left'], ['dimension', 'left'], ['hidden, free'], ['hidden, moved'], ['exposed, free'], ['exposed, paid'], ['slack']],
    report.overlap.map((r) => [r.name, r.dimension, seconds(r.hidden_free_s), seconds(r.hidden_critical_s), seconds(r.exposed_free_s), seconds(r.exposed_critical_s), seconds(r.mean_slack_s)]));
}

export function resources(report) {
  const whole = report.step_time_s;
  const starts = report.verdict.elasticity.starts === undefined ? [] : ['starts'];
  const names = ['compute', 'hbm', ...starts, ...report.wires, 'latency'];
  const path = report.critical_path;
  return table(`Resources: roofline of the worst rank, ${report.roofline.rank}; critical path; elasticity of the step time`,
    [['resource', 'left'], ['needs alone'], ['of the step'], ['on the critical path'], ['elasticity'], ['10 % faster saves']],
    names.map((name) => {
      const need = report.roofline[`${name}_s`];
      const on_path = name === 'compute' ? path.by_kind.compute_s : path.by_wire[`${name}_s`];
      const elasticity = report.verdict.elasticity[name];
      const noise = Math.abs(elasticity) < 1e-6;
      return [resource(name), need === undefined ? '–' : seconds(need), need === undefined ? '–' : percent(need / whole), on_path ? percent(on_path / whole) : '–',
        elasticity === undefined ? '–' : (noise ? 0 : elasticity).toFixed(3), elasticity === undefined ? '–' : seconds(noise ? 0 : report.verdict.saved_by_10_percent[`${name}_s`])];
    }));
}

export function ranks(report) {
  return long_table('Ranks (each kind once)',
    [['stage'], ['ranks'], ['first'], ['compute'], ['hidden'], ['exposed'], ['wait'], ['bubble'], ['peak memory']],
    report.ranks.map((r) => [r.stage, number(r.count), r.rank, seconds(r.compute_s), seconds(r.overlapped_communication_s), seconds(r.exposed_communication_s), seconds(r.wait_s), seconds(r.bubble_s),
      r.peak_memory_bytes > 0 ? bytes(r.peak_memory_bytes) : '–']));
}

export function passes(report) {
  const kinds = [['forward', 'forward'], ['backward', 'backward'], ['input_gradient', 'input gradient'], ['weight_gradient', 'weight gradient'], ['pair', 'overlapped pairs']];
  const rows = report.passes ?? [];
  if (!rows.length) return null;
  const other = report.speed_of_light;
  const all = [...rows, ...(other?.passes ?? [])];
  const shown = kinds.filter(([key]) => all.some((r) => r[key].seconds > 0));
  const line = (name, r, step) => [name, ...shown.map(([key]) => `${seconds(r[key].seconds)}${r[key].count ? ` (${number(r[key].count)})` : ''}`), seconds(r.optimizer_s), seconds(r.bubble_s), seconds(step)];
  const named = (rates, list, step) => list.map((r) => line(other ? `${r.stage}, ${rates}` : r.stage, r, step));
  return long_table('What runs when on the first rank of each stage (how often): passes by themselves, overlapped pairs, the optimizer with its communication, nothing',
    [['stage', other ? 'left' : undefined], ...shown.map(([, title]) => [title]), ['optimizer'], ['bubble'], ['step']],
    [...named('calibrated', rows, report.step_time_s), ...(other ? named('speed of light', other.passes, other.step_time_s) : [])]);
}

export function waits(report) {
  const rows = [...(report.waits ?? [])].sort((a, b) => b.wait_s - a.wait_s);
  if (!rows.length) return null;
  const who = (rank, count, stage) => `rank ${rank}${count > 1 ? ` (${number(count)} alike)` : ''}, stage ${stage}`;
  return long_table('Who waits for whom in collectives; seconds of each rank that waits',
    [['waits', 'left'], ['for', 'left'], ['its speed'], ['wait'], ['of the step']],
    rows.map((w) => [who(w.rank, w.count, w.stage), who(w.for_rank, w.for_count, w.for_stage), percent(w.for_speed), seconds(w.wait_s), percent(w.wait_s / report.step_time_s)]));
}

export function chains(report) {
  const { chains: list } = report.critical_path;
  if (!list?.length) return null;
  const dash = (n) => (n < 0 ? '–' : n);
  return [element('h3', {}, 'Longest stretches of the critical path on one rank'), list.map((chain) => more(
    `rank ${chain.rank}: ${seconds(chain.seconds)} from ${seconds(chain.begin_s)} on`,
    table(`Its longest events, in order${chain.left_out_s > 0 ? `; shorter ones take ${seconds(chain.left_out_s)} together` : ''}`,
      [['begins'], ['takes'], ['event', 'left'], ['phase', 'left'], ['layer'], ['microbatch'], ['wire', 'left'], ['events']],
      chain.events.map((e) => [`+ ${seconds(e.begin_s - chain.begin_s)}`, seconds(e.seconds), e.name, e.phase.replace('_', ' '), dash(e.layer), dash(e.microbatch), e.wire || '–', number(e.count)])),
  ))];
}

export function inputs(plan) {
  const { report } = plan;
  const names = report.inputs;
  const { engine } = report;
  const facts = [['experiment', names.experiment], ['model', names.model], ['cluster', names.cluster], ['plan', names.plan], ['scenario', names.scenario], ['schedule', names.schedule],
    ['rates', names.rates], ['parallelism', names.parallelism], ['GPUs', number(names.gpus)], ['nodes', number(names.nodes)], ['overrides', names.overrides.join(' ') || 'none'],
    ...Object.entries(names.files).map(([what, file]) => [`file of ${what}`, file]),
    ['FLOPs counted as', report.flops.convention],
    ['engine', `${engine.name}, detail ${engine.detail}, ${engine.folded ? `folded to ${number(engine.representatives)} representatives` : `${number(engine.representatives)} ranks unfolded`}, ${number(engine.events)} events`]];
  return [table('What was simulated', [['what', 'left'], ['value', 'left']], facts),
    plan.inputs.length ? more(`All ${plan.inputs.length} keys with their origin`, table('Every key of the inputs', [['key', 'left'], ['value', 'left'], ['origin', 'left']], plan.inputs)) : null];
}
