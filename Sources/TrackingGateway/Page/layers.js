// What is drawn on the map: a grid where there are no tiles, and a canvas that all markers share.

const L = window.L;

const COLOURS = { ONLINE: "--online", STALE: "--stale", OFFLINE: "--offline", FAILED: "--failed" };

/** Reads the colours of the style sheet, so that light and dark are said in one place. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  const read = (name) => style.getPropertyValue(name).trim();
  return {
    state: (state) => read(COLOURS[state] ?? "--offline"), ground: read("--ground"), line: read("--grid"),
    text: read("--ink"), faint: read("--faint"), halo: read("--halo"), trail: read("--trail"), accent: read("--accent"),
  };
}

/** Lines of latitude and longitude: a map without a tile server. */
export const Grid = L.GridLayer.extend({
  options: { tileSize: 256, className: "grid-tile" },

  createTile(coords) {
    const size = this.getTileSize();
    const ratio = window.devicePixelRatio || 1;
    const tile = document.createElement("canvas");
    tile.width = size.x * ratio;
    tile.height = size.y * ratio;
    const colours = palette();
    const context = tile.getContext("2d");
    context.scale(ratio, ratio);
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, size.x, size.y);
    const northWest = this._map.unproject([coords.x * size.x, coords.y * size.y], coords.z);
    const southEast = this._map.unproject([(coords.x + 1) * size.x, (coords.y + 1) * size.y], coords.z);
    const step = Grid.step(southEast.lng - northWest.lng);
    const y0 = coords.y * size.y;
    const x0 = coords.x * size.x;
    context.strokeStyle = colours.line;
    context.fillStyle = colours.faint;
    context.font = "11px system-ui, sans-serif";
    context.lineWidth = 1;
    for (let lng = Math.ceil(northWest.lng / step) * step; lng < southEast.lng; lng += step) {
      const x = Math.round(this._map.project([0, lng], coords.z).x - x0) + 0.5;
      context.beginPath(); context.moveTo(x, 0); context.lineTo(x, size.y); context.stroke();
      context.fillText(Grid.label(lng, step, "E", "W"), x + 4, size.y - 5);
    }
    for (let lat = Math.ceil(southEast.lat / step) * step; lat < northWest.lat; lat += step) {
      const y = Math.round(this._map.project([lat, 0], coords.z).y - y0) + 0.5;
      context.beginPath(); context.moveTo(0, y); context.lineTo(size.x, y); context.stroke();
      context.fillText(Grid.label(lat, step, "N", "S"), 4, y - 4);
    }
    return tile;
  },
});

Grid.step = (span) => {
  for (const step of [60, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0002]) {
    if (span / step >= 1) return step;
  }
  return 0.0001;
};

Grid.label = (value, step, positive, negative) => {
  const digits = Math.max(0, Math.ceil(-Math.log10(step)));
  return `${Math.abs(value).toFixed(digits)}° ${Math.abs(value) < step / 2 ? "" : value > 0 ? positive : negative}`;
};

/** One canvas over the whole map; `paint(context, view)` draws on it once a frame while there is something to draw. */
export const Canvas = L.Layer.extend({
  initialize(paint) { this.paint = paint; },

  onAdd(map) {
    this.canvas = L.DomUtil.create("canvas", "marker-canvas leaflet-zoom-hide", map.getPanes().markerPane);
    this.context = this.canvas.getContext("2d");
    map.on("resize", this.resize, this);
    this.resize();
    const frame = () => {
      this.request = requestAnimationFrame(frame);
      this.draw();
    };
    frame();
  },

  onRemove(map) {
    cancelAnimationFrame(this.request);
    map.off("resize", this.resize, this);
    this.canvas.remove();
  },

  resize() {
    const size = this._map.getSize();
    this.ratio = window.devicePixelRatio || 1;
    this.canvas.width = size.x * this.ratio;
    this.canvas.height = size.y * this.ratio;
    this.canvas.style.width = `${size.x}px`;
    this.canvas.style.height = `${size.y}px`;
  },

  draw() {
    const map = this._map;
    L.DomUtil.setPosition(this.canvas, map.containerPointToLayerPoint([0, 0]));
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.paint(context, view(map));
  },
});

/** Where places are on the screen, without making an object for each of thousands. */
export function view(map) {
  const zoom = map.getZoom();
  const scale = 256 * 2 ** zoom;
  const size = map.getSize();
  const origin = map.getPixelBounds().min;
  const metresPerPixel = 40075016.686 * Math.cos(map.getCenter().lat * Math.PI / 180) / scale;
  return {
    zoom, width: size.x, height: size.y, metresPerPixel,
    x: (lng) => (lng + 180) / 360 * scale - origin.x,
    y: (lat) => {
      const sine = Math.sin(Math.max(-85.0511, Math.min(85.0511, lat)) * Math.PI / 180);
      return (0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)) * scale - origin.y;
    },
  };
}

/** A marker: a disc in the colour of its state, with an arrow where it heads and its name where there is room. */
export function drawMarker(context, x, y, marker, colours) {
  const radius = marker.isChosen ? 9 : 7;
  if (marker.bearing !== undefined && marker.isMoving) {
    const angle = (marker.bearing - 90) * Math.PI / 180;
    context.fillStyle = marker.colour;
    context.strokeStyle = colours.halo;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(x + Math.cos(angle) * (radius + 9), y + Math.sin(angle) * (radius + 9));
    context.lineTo(x + Math.cos(angle + 0.62) * (radius + 1), y + Math.sin(angle + 0.62) * (radius + 1));
    context.lineTo(x + Math.cos(angle - 0.62) * (radius + 1), y + Math.sin(angle - 0.62) * (radius + 1));
    context.closePath();
    context.stroke();
    context.fill();
  }
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = marker.colour;
  context.fill();
  context.lineWidth = marker.isChosen ? 3 : 2;
  context.strokeStyle = colours.halo;
  context.stroke();
  if (marker.icon) {
    context.font = "11px system-ui, sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(marker.icon, x, y);
    context.textAlign = "start";
    context.textBaseline = "alphabetic";
  }
  if (!marker.label) return;
  context.font = `${marker.isChosen ? "600 " : ""}12px system-ui, sans-serif`;
  context.lineWidth = 4;
  context.lineJoin = "round";
  context.strokeStyle = colours.halo;
  context.strokeText(marker.label, x + radius + 7, y + 4);
  context.fillStyle = colours.text;
  context.fillText(marker.label, x + radius + 7, y + 4);
}

/** A circle of 68 % confidence, where it is larger than the marker. */
export function drawAccuracy(context, x, y, metres, view, colour) {
  const radius = metres / view.metresPerPixel;
  if (!(radius > 10) || radius > 4000) return;
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.globalAlpha = 0.14;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.strokeStyle = colour;
  context.stroke();
  context.globalAlpha = 1;
}

/** A line through places {lat, lng}; `colour` may be a function of the index of a step. */
export function drawLine(context, view, places, colour, width, alpha = 1) {
  context.globalAlpha = alpha;
  context.lineWidth = width;
  context.lineCap = context.lineJoin = "round";
  const isPlain = typeof colour !== "function";
  if (isPlain) { context.strokeStyle = colour; context.beginPath(); }
  for (let i = 0; i < places.length; i += 1) {
    const [x, y] = [view.x(places[i].lng), view.y(places[i].lat)];
    if (isPlain) { if (i === 0) context.moveTo(x, y); else context.lineTo(x, y); continue; }
    if (i === 0) continue;
    context.strokeStyle = colour(i);
    context.beginPath();
    context.moveTo(view.x(places[i - 1].lng), view.y(places[i - 1].lat));
    context.lineTo(x, y);
    context.stroke();
  }
  if (isPlain) context.stroke();
  context.globalAlpha = 1;
}
