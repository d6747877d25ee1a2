// Shapes of many parts, each one element for the chart: what makes tens of thousands of events cheap.
import { echarts } from './chart.js';

const whole = () => new echarts.graphic.BoundingRect(-1e5, -1e5, 2e5, 2e5);

const Rects = echarts.graphic.extendShape({
  shape: { rects: [] }, // x, y, width, height, ...
  buildPath(path, { rects }) {
    for (let i = 0; i < rects.length; i += 4) path.rect(rects[i], rects[i + 1], rects[i + 2], rects[i + 3]);
  },
});
Rects.prototype.getBoundingRect = whole;
Rects.prototype.contain = () => false; // the timeline finds its events itself

const Track = echarts.graphic.extendShape({
  shape: { points: [] }, // x, y, ...; NaN breaks the line
  buildPath(path, { points }) {
    let down = false;
    for (let i = 0; i < points.length; i += 2) {
      if (Number.isNaN(points[i])) {
        down = false;
      } else if (down) {
        path.lineTo(points[i], points[i + 1]);
      } else {
        path.moveTo(points[i], points[i + 1]);
        down = true;
      }
    }
  },
});
Track.prototype.getBoundingRect = whole;
Track.prototype.contain = () => false;

echarts.graphic.registerShape('rects', Rects);
echarts.graphic.registerShape('track', Track);
