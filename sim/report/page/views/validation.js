// Published runs, simulated against measured: every run in one plot, families, GPUs, the worst runs, what each element of the
// model is worth.
import { chart, axis_style, tooltip_style } from '../charts/chart.js';
import { element, long_table, more, section, table } from '../dom.js';
import { bytes, escape, number, seconds } from '../format.js';
import { color } from '../theme.js';

const hues = ['compute', 'exposed', 'wait', 'hbm', 'wire-0', 'wire-2', 'wire-3'];
const marks = ['circle', 'triangle', 'diamond', 'rect']; // another with each round through the hues
const signed = (x) => (x === undefined ? '–' : `${x >= 0 ? '+' : '−'}${(100 * Math.abs(x)).toFixed(1)} %`);
const plain = (x) => (x === undefined ? '–' : `${(100 * x).toFixed(1)} %`);
const decade = (x, round) => 10 ** round(Math.log10(x));

const about = (r) => `<b>${escape(r.id)}</b><br>${escape(r.model)}, ${number(r.gpus)} ${escape(r.gpu)}<br>measured ${seconds(r.measured_step_s)}, simulated ${seconds(r.predicted_step_s)}: ${signed(r.error)}${r.cause ? `<br>${escape(r.cause)}` : ''}`;

function scatter(rows, families) {
  const all = rows.flatMap((r) => [r.measured_step_s, r.predicted_step_s]);
  const low = decade(Math.min(...all), Math.floor);
  const high = decade(Math.max(...all), Math.ceil);
  const line = (name, factor, type) => ({ name, type: 'line', symbol: 'none', silent: true, lineStyle: { color: color('quiet'), width: 1, type }, itemStyle: { color: color('quiet') }, data: [[low, low * factor], [high, high * factor]] });
  return chart(`Simulated against measured step time of ${rows.length} runs`, 520, (width) => ({
    grid: { left: 8, right: 24, top: width < 500 ? 190 : 90, bottom: 44, containLabel: true },
    legend: { top: 0, left: 0, textStyle: { color: color('ink'), fontSize: 12 }, data: families.map((f) => f.name) },
    tooltip: { ...tooltip_style(), formatter: ({ data }) => (data.run ? about(data.run) : '') },
    xAxis: { type: 'log', min: low, max: high, name: 'measured, s', nameLocation: 'middle', nameGap: 26, ...axis_style() },
    yAxis: { type: 'log', min: low, max: high, name: 'simulated, s', ...axis_style() },
    series: [
      line('equal', 1, 'solid'), line('+ 10 %', 1.1, 'dotted'), line('− 10 %', 1 / 1.1, 'dotted'),
      ...families.map((family, i) => ({
        name: family.name,
        type: 'scatter',
        symbol: marks[Math.floor(i / hues.length) % marks.length],
        symbolSize: 8,
        itemStyle: { color: color(hues[i % hues.length]), opacity: 0.75 },
        data: rows.filter((r) => r.family === family.name).map((run) => ({ value: [run.measured_step_s, run.predicted_step_s], run })),
      })),
    ],
  }));
}

const summary_columns = (what) => [[what, 'left'], ['rows'], ['simulated'], ['signed median'], ['mean |error|'], ['90th |error|'], ['memory, mean |error|']];
const summary_row = (s) => [s.name, number(s.rows), number(s.simulated), signed(s.signed_median), plain(s.mean_absolute), plain(s.percentile_90), plain(s.memory?.mean_absolute)];

export function validation_view(page, data) {
  const rows = data.rows.filter((r) => r.simulated);
  const missing = data.rows.filter((r) => !r.simulated);
  const all = data.overall.families_alike;
  const settings = data.settings.length ? `, ${data.settings.join(' ')}` : '';
  page.append(element('header', { class: 'verdict' },
    element('p', { class: 'name' }, `${data.file}${settings}`),
    element('h1', {}, rows.length ? `Off by ${plain(all.mean_absolute)} on average, ${signed(all.signed_median)} in the median` : 'No run could be simulated'),
    element('p', { class: 'why' }, `${number(rows.length)} of ${number(data.rows.length)} runs simulated; families weigh alike. Error: simulated over measured step time, less 1.`)));
  if (rows.length) page.append(section('Simulated against measured', 'On the line both are equal; dotted, 10 % off.', scatter(rows, data.families)));
  page.append(
    section('Errors', null, table('By family', summary_columns('family'), [...data.families, { ...all, name: 'families alike' }, { ...data.overall.rows_alike, name: 'rows alike' }].map(summary_row)),
      more('By GPU and by model', table('By GPU', summary_columns('GPU'), data.gpus.map(summary_row)), long_table('By model', summary_columns('model'), data.models.map(summary_row)))),
  );
  if (rows.length) {
    const worst = [...rows].sort((a, b) => Math.abs(Math.log1p(b.error)) - Math.abs(Math.log1p(a.error)));
    page.append(section('Runs', 'The farthest off first, with the likely cause.', long_table('Every simulated run',
      [['run', 'left'], ['model', 'left'], ['GPU', 'left'], ['GPUs'], ['measured'], ['simulated'], ['error'], ['memory measured'], ['simulated'], ['likely cause', 'left']],
      worst.map((r) => [r.id, r.model, r.gpu, number(r.gpus), seconds(r.measured_step_s), seconds(r.predicted_step_s), signed(r.error),
        r.measured_memory_gb ? bytes(1e9 * r.measured_memory_gb) : '–', r.predicted_memory_gb ? bytes(1e9 * r.predicted_memory_gb) : '–', r.cause]), 20)));
  }
  if (missing.length) page.append(section('Not simulated', null, long_table('Runs that cannot be rebuilt', [['run', 'left'], ['why', 'left']], missing.map((r) => [r.id, r.problems.join('; ')]))));
  if (data.ablations.length) {
    page.append(section('What each element is worth', 'The errors of all rows with one element or assumption decided otherwise.', table('Ablation',
      [['element', 'left'], ['instead', 'left'], ['rows'], ['signed median'], ['mean |error|']],
      data.ablations.map((a) => [`${a.id}: ${a.about}`, a.instead.join(' ') || '–', number(a.rows), signed(a.families_alike?.signed_median), plain(a.families_alike?.mean_absolute)]))));
  }
  const used = new Set(rows.flatMap((r) => r.assumptions));
  const listed = Object.entries(data.assumptions).filter(([id]) => used.has(id));
  if (listed.length) {
    page.append(section('Assumptions', 'Where a source does not say it.', table('Assumptions of the rebuilt runs', [['assumption', 'left'], ['what', 'left'], ['rows']],
      listed.map(([id, what]) => [id, what, number(rows.filter((r) => r.assumptions.includes(id)).length)]))));
  }
}
