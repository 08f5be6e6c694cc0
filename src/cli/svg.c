/* SPDX-License-Identifier: MIT
 *
 * Pictures, and the one of a matrix's layout: one cell per element, whose hue shows the lane that
 * holds it and whose lightness shows which of that lane's elements it is. Colours are made in OKLCH
 * (B. Ottosson, A perceptual color space for image processing, 2020), where equal steps look equal.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

typedef struct Picture {
    FILE *f;
    const CliLayout *l;
    uint32_t length;  /* elements a lane */
    double cell;      /* side of a cell */
    double letters;   /* size of the text in it; 0 = none */
    double left, top; /* of the grid */
    double width, height;
    double swatch;    /* of the legend */
    uint32_t per_row; /* swatches */
} Picture;

/* ---- any picture ----------------------------------------------------------------------------- */

FILE *file_open(const char *path)
{
    FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
    if (!f)
        complain("%s: cannot write: %s", path, strerror(errno));
    return f;
}

FILE *svg_open(const char *path, double width, double height)
{
    FILE *f = file_open(path);
    if (f)
        svg_begin(f, width, height);
    return f;
}

void svg_begin(FILE *f, double width, double height)
{
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 "
            "0 %.0f "
            "%.0f\" font-family=\"Inter, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            width, height, width, height);
}

void xml_text(FILE *f, const char *s)
{
    for (; *s; s++) {
        if (*s == '&' || *s == '<' || *s == '"')
            fputs(*s == '&' ? "&amp;" : *s == '<' ? "&lt;" : "&quot;", f);
        else
            fputc(*s, f);
    }
}

void svg_text(FILE *f, double x, double y, double size, const char *attributes, const char *s)
{
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" %s>", x, y, size, attributes);
    xml_text(f, s);
    fprintf(f, "</text>\n");
}

bool svg_close(FILE *f, const char *path)
{
    fprintf(f, "</svg>\n");
    return file_close(f, path);
}

bool file_close(FILE *f, const char *path)
{
    bool good = !ferror(f);
    int error = errno;
    if (f != stdout && fclose(f) && good) {
        good = false;
        error = errno;
    }
    if (!good)
        complain("%s: cannot write: %s", path, strerror(error));
    return good;
}

/* ---- colours --------------------------------------------------------------------------------- */

static int channel(double linear)
{
    double x = linear < 0 ? 0 : linear > 1 ? 1 : linear;
    x = x <= 0.0031308 ? 12.92 * x : 1.055 * pow(x, 1 / 2.4) - 0.055;
    return (int)(255 * x + 0.5);
}

typedef struct Colour {
    char text[8];
} Colour;

static Colour oklch(double lightness, double chroma, double hue)
{
    double a = chroma * cos(hue), b = chroma * sin(hue);
    double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    l = l * l * l, m = m * m * m, s = s * s * s;
    Colour c;
    snprintf(c.text, sizeof c.text, "#%02x%02x%02x",
             channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
             channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
             channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s));
    return c;
}

static double hue(const Picture *p, uint32_t lane)
{
    return (20 + 330.0 * lane / p->l->subgroup_size) * 3.14159265358979 / 180;
}

static Colour cell_colour(const Picture *p, uint32_t lane, uint32_t element)
{
    double t = p->length > 1 ? (double)element / (p->length - 1) : 0;
    return oklch(0.90 - 0.16 * t, 0.075 + 0.035 * t, hue(p, lane));
}

static Colour ink(const Picture *p, uint32_t lane) { return oklch(0.30, 0.06, hue(p, lane)); }

/* ---- parts ----------------------------------------------------------------------------------- */

static void square(const Picture *p, double x, double y, double side, Colour c, const char *extra)
{
    double gap = side > 16 ? 1 : side > 8 ? 0.5 : 0;
    fprintf(
        p->f,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" rx=\"%.1f\" fill=\"%s\"%s/>\n",
        x + gap, y + gap, side - 2 * gap, side - 2 * gap, side > 16 ? side * 0.12 : 0, c.text,
        extra);
}

static void draw_element(const Picture *p, uint32_t row, uint32_t column)
{
    uint32_t lane = 0, e = 0;
    layout_owner(p->l, row, column, &lane, &e);
    double x = p->left + column * p->cell, y = p->top + row * p->cell;
    char ring[64] = "";
    if (lane == 0)
        snprintf(ring, sizeof ring, " stroke=\"#1b1f27\" stroke-width=\"%.1f\"",
                 p->cell > 16 ? 1.8 : 0.8);
    square(p, x, y, p->cell, cell_colour(p, lane, e), ring);
    double size = p->letters;
    if (size == 0)
        return;
    fprintf(
        p->f,
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" text-anchor=\"middle\" fill=\"%s\">"
        "<tspan font-weight=\"600\">%u</tspan><tspan font-size=\"%.1f\" fill-opacity=\"0.72\">.%u"
        "</tspan></text>\n",
        x + p->cell / 2, y + p->cell / 2 + size * 0.36, size, ink(p, lane).text, lane, size * 0.82,
        e);
}

/* Numbers along the edges, as many as there is room for. */
static void axes(const Picture *p)
{
    uint32_t every = p->cell >= 18 ? 1 : p->cell >= 8 ? 4 : 16;
    double size = p->cell >= 18 ? fmin(p->cell * 0.34, 13) : 10;
    char s[16];
    for (uint32_t c = 0; c < p->l->columns; c += every) {
        snprintf(s, sizeof s, "%u", c);
        svg_text(p->f, p->left + (c + 0.5) * p->cell, p->top - 8, size,
                 "text-anchor=\"middle\" fill=\"#69707d\"", s);
    }
    for (uint32_t r = 0; r < p->l->rows; r += every) {
        snprintf(s, sizeof s, "%u", r);
        svg_text(p->f, p->left - 10, p->top + (r + 0.5) * p->cell + size * 0.36, size,
                 "text-anchor=\"end\" fill=\"#69707d\"", s);
    }
}

static void heading(const Picture *p)
{
    const CliLayout *l = p->l;
    char s[200];
    snprintf(s, sizeof s, "%u × %u %s, %s, in a subgroup of %u", l->rows, l->columns,
             heddle_type_name(l->type),
             l->use == HEDDLE_USE_ACCUMULATOR ? "accumulator" : use_name(l->use), l->subgroup_size);
    svg_text(p->f, 28, 44, 22, "font-weight=\"650\" fill=\"#1b1f27\"", s);
    if (l->array)
        snprintf(s, sizeof s, "from and to arrays %s[%u]: lane l's is %s l",
                 heddle_type_name(l->array), p->length, l->use == HEDDLE_USE_B ? "column" : "row");
    else
        snprintf(s, sizeof s,
                 "%u element%s an invocation · element e of lane l is number "
                 "e · %u + l, row by row",
                 p->length, p->length == 1 ? "" : "s", l->subgroup_size);
    svg_text(p->f, 28, 68, 13, "fill=\"#4d5461\"", s);
    layout_whose(l, s, sizeof s);
    svg_text(p->f, 28, 87, 13, "fill=\"#4d5461\"", s);
}

static void legend(const Picture *p)
{
    double x = p->left, y = p->top + p->l->rows * p->cell + 44;
    char s[120];
    svg_text(p->f, x, y - 12, 12.5, "font-weight=\"600\" fill=\"#1b1f27\"", "lane");
    for (uint32_t lane = 0; lane < p->l->subgroup_size; lane++) {
        double sx = x + lane % p->per_row * p->swatch, sy = y + lane / p->per_row * p->swatch;
        square(p, sx, sy, p->swatch, cell_colour(p, lane, p->length / 2),
               lane ? "" : " stroke=\"#1b1f27\" stroke-width=\"1.8\"");
        snprintf(s, sizeof s, "text-anchor=\"middle\" font-weight=\"600\" fill=\"%s\"",
                 ink(p, lane).text);
        char n[12];
        snprintf(n, sizeof n, "%u", lane);
        svg_text(p->f, sx + p->swatch / 2, sy + p->swatch / 2 + 3.8, 10.5, s, n);
    }
    y += (p->l->subgroup_size + p->per_row - 1) / p->per_row * p->swatch + 34;
    svg_text(p->f, x, y - 12, 12.5, "font-weight=\"600\" fill=\"#1b1f27\"", "element");
    uint32_t shown = p->length < p->per_row ? p->length : p->per_row;
    for (uint32_t i = 0; i < shown; i++) {
        uint32_t e = shown > 1 ? (uint32_t)((uint64_t)i * (p->length - 1) / (shown - 1)) : 0;
        square(p, x + i * p->swatch, y, p->swatch, cell_colour(p, 0, e), "");
        char n[16];
        snprintf(n, sizeof n, ".%u", e);
        snprintf(s, sizeof s, "text-anchor=\"middle\" fill=\"%s\"", ink(p, 0).text);
        svg_text(p->f, x + (i + 0.5) * p->swatch, y + p->swatch / 2 + 3.8, 10.5, s, n);
    }
    svg_text(p->f, x, y + p->swatch + 24, 12.5, "fill=\"#4d5461\"",
             p->letters > 0
                 ? "A cell shows lane.element. Outlined: what lane 0 holds."
                 : "Hue is the lane, lightness the element. Outlined: what lane 0 holds.");
}

/* The longest text, lane in bold and element smaller, fills at most nine tenths of a cell. */
static double letters(const Picture *p)
{
    int lane = snprintf(NULL, 0, "%u", p->l->subgroup_size - 1);
    int element = snprintf(NULL, 0, "%u", p->length - 1);
    double width = 0.70 * lane + 0.82 * (0.32 + 0.64 * element);
    double size = fmin(p->cell * 0.36, p->cell * 0.9 / width);
    return size < 6 ? 0 : size;
}

static void measure(Picture *p)
{
    const CliLayout *l = p->l;
    uint32_t side = l->rows > l->columns ? l->rows : l->columns;
    p->length = layout_length(l);
    p->cell = side <= 8     ? 52
              : side <= 16  ? 44
              : side <= 32  ? 36
              : side <= 64  ? 30
              : side <= 128 ? 12
                            : 4;
    p->letters = letters(p);
    p->left = 62;
    p->top = 118;
    p->swatch = 28;
    double grid = l->columns * p->cell;
    p->width = fmax(p->left + grid + 34, 600);
    p->per_row = 16;
    double rows = (l->subgroup_size + p->per_row - 1) / p->per_row;
    p->height = p->top + l->rows * p->cell + 44 + rows * p->swatch + 34 + p->swatch + 50;
}

static void draw(const Picture *p)
{
    heading(p);
    axes(p);
    for (uint32_t r = 0; r < p->l->rows; r++) {
        for (uint32_t c = 0; c < p->l->columns; c++)
            draw_element(p, r, c);
    }
    legend(p);
}

bool layout_svg(const CliLayout *l, const char *path)
{
    Picture p = { .l = l };
    measure(&p);
    p.f = svg_open(path, p.width, p.height);
    if (!p.f)
        return false;
    draw(&p);
    return svg_close(p.f, path);
}
