// One plan: the verdict in words, then what it rests on.
import { help_chart } from '../charts/help.js';
import { link_map } from '../charts/links.js';
import { memory_over_time, memory_peaks } from '../charts/memory.js';
import { path_chart } from '../charts/path.js';
import { roofline_chart } from '../charts/roofline.js';
import { ranks_split } from '../charts/split.js';
import { timeline_chart } from '../charts/timeline.js';
import { element, more, section } from '../dom.js';
import { bytes, number, percent, seconds } from '../format.js';
import * as tables from './tables.js';

const mean = (report, of) => {
  const gpus = report.ranks.reduce((sum, r) => sum + r.count, 0);
  return report.ranks.reduce((sum, r) => sum + r.count * of(r), 0) / (gpus * report.step_time_s);
};

// "Compute-bound, by a factor of 5.7" and what follows.
function verdict_parts(text) {
  const colon = text.indexOf(': ');
  if (colon < 0 || colon > 90) return ['Not judged', text];
  return [text.slice(0, colon), text[colon + 2].toUpperCase() + text.slice(colon + 3)];
}

function figures(report) {
  const figure = (name, value, about) => element('div', { class: 'figure' }, element('dt', {}, name), element('dd', {}, element('b', {}, value), about && element('span', {}, about)));
  const exposed = mean(report, (r) => r.exposed_communication_s);
  const idle = mean(report, (r) => r.idle_s);
  const { memory } = report;
  return element('dl', { class: 'figures' },
    figure('step time', seconds(report.step_time_s), `${number(report.tokens_per_step)} tokens`),
    report.steady_period_s < report.step_time_s && figure('steady period', seconds(report.steady_period_s), 'of steps in a row'),
    figure('tokens/s/GPU', number(report.tokens_per_s_per_gpu), `${number(report.inputs.gpus)} GPUs`),
    figure('MFU', percent(report.flops.mfu), `HFU ${percent(report.flops.hfu)}`),
    figure('exposed communication', percent(exposed), 'of the step, mean of GPUs'),
    figure('idle', percent(idle), 'wait and bubble'),
    memory.peak_bytes > 0 && figure('peak memory', bytes(memory.peak_bytes), memory.gpu_memory_bytes > 0 ? `of ${bytes(memory.gpu_memory_bytes)}` : ''));
}

function warnings(report) {
  if (!report.warnings.length) return null;
  const items = (list) => element('ul', {}, list.map((w) => element('li', {}, w)));
  const most = 4;
  return element('div', { class: 'warnings' }, element('b', {}, `${report.warnings.length} warning${report.warnings.length === 1 ? '' : 's'}`), items(report.warnings.slice(0, most)),
    report.warnings.length > most ? more(`${report.warnings.length - most} more`, items(report.warnings.slice(most))) : null);
}

function head(report, level) {
  const [verdict, why] = verdict_parts(report.verdict.text);
  const { inputs } = report;
  return element('header', { class: `verdict ${report.verdict.bound}` },
    element('p', { class: 'name' }, `${inputs.experiment}: ${inputs.model} on ${inputs.cluster}, ${number(inputs.gpus)} GPUs, ${inputs.parallelism}`),
    !report.memory.fits && element('p', { class: 'misfit' }, `Does not fit in memory: needs ${bytes(report.memory.peak_bytes)} of ${bytes(report.memory.gpu_memory_bytes)}.`),
    report.memory.fitting_changes?.length > 0 && element('p', {}, 'It would fit with ', report.memory.fitting_changes.slice(0, 3).map(
      (c, i) => [i ? ', or ' : '', element('code', {}, [c.set].flat().join(' and ')), ` (${bytes(c.peak_bytes)}, step ${c.slower_estimate >= 0 ? '+' : '−'}${percent(Math.abs(c.slower_estimate))} by estimate)`]), '.'),
    element(level, {}, verdict), element('p', { class: 'why' }, why), figures(report), warnings(report));
}

export function report_sections(plan, level = 'h1') {
  const { report } = plan;
  const judged = Object.keys(report.verdict.elasticity).length > 0;
  return [
    head(report, level),
    judged && section('What would help', 'Each resource 10 % faster, estimated from simulating the step again with it 1 % faster.', help_chart(report)),
    plan.timeline && section('Timeline', null, timeline_chart(plan.timeline)),
    section('Where the time goes', 'For each kind of rank; the parts add up to the step.', ranks_split(report), more('As a table', tables.ranks(report)), tables.passes(report), tables.waits(report)),
    section('Roofline', 'A point for each rank and resource. On the roof a rank is limited by that resource alone; the distance below is what the step loses to order, overlap and waiting.', roofline_chart(report), tables.resources(report)),
    section('Critical path', 'The chain of events that made the step as long as it is, through ranks, streams and wires.', path_chart(report), tables.chains(report)),
    section('Collectives', null, tables.collectives(report), tables.overlap(report),
      element('p', { class: 'about' }, 'Hidden: under compute. Free: it could grow by its slack and the step would not. Moved: hidden here, but whatever delays it is waited for elsewhere. Paid: exposed, and the step waits for it.')),
    report.links.length > 0 && section('Links', 'How busy each link is over the whole step, from the GPUs outwards.', link_map(report)),
    report.memory.ranks.length > 0 && section('Memory', null, memory_peaks(report), memory_over_time(report)),
    section('Inputs', null, tables.inputs(plan)),
  ];
}

export function report_view(page, data) {
  page.append(...report_sections(data).flat().filter(Boolean));
}
