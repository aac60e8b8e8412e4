/* The compiled scanner: blocks, entries and results from the bytes of a file into flat columns.
 *
 * It only ever accepts. What is not plainly sound it does not diagnose: it stops before it and says
 * how far it came, and the Python modules (container, scan, results, nvtx, rules), which define
 * what the bytes mean, take over there and either digest it or raise the one typed error. So there
 * is one set of messages, and one rule for the two: what this file accepts, they accept with the
 * same values.
 *
 * It works on the mapped file itself. Every read is checked against the end of the message that
 * encloses it, nothing is allocated for a size that is only claimed, and the depth of calls is that
 * of the message tables below, whatever the file says. The GIL is released while it scans, so only
 * malloc's memory is touched meanwhile.
 *
 * Messages: BlockHeader and ProfileResult, RangeResult, CmdlistResult and GraphResult of Nsight
 * Compute's report format. Field numbers are those of the Python modules.
 */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Verdicts ------------------------------------------------------------------------------- */

typedef enum { ACCEPTED, REFUSED, NO_MEMORY } Verdict;

#define TRY(call)                       \
    do {                                \
        Verdict verdict_ = (call);      \
        if (verdict_ != ACCEPTED)       \
            return verdict_;            \
    } while (0)

/* ---- The protobuf wire format --------------------------------------------------------------- */

/* The bytes of a message that are still to be read. */
typedef struct {
    const uint8_t *at, *stop;
} Span;

/* One field. `value` is the number of a varint or fixed field, else the size of the content. */
typedef struct {
    uint64_t key, value;
    const uint8_t *content;
} Field;

/* Keys as they stand in a file: field number and wire type. */
#define VARINT(number) ((number) << 3 | 0)
#define FIXED64(number) ((number) << 3 | 1)
#define BYTES(number) ((number) << 3 | 2)
#define FIXED32(number) ((number) << 3 | 5)

enum { MAX_FIELD_NUMBER = 0x1FFFFFFF };

/* Read byte by byte, so that the byte order and alignment of the machine do not matter; compilers
 * know the pattern and make one load of it. */
static inline uint32_t load16(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t load32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static inline uint64_t load64(const uint8_t *at)
{
    return load32(at) | (uint64_t)load32(at + 4) << 32;
}

static inline size_t left_in(Span span)
{
    return (size_t)(span.stop - span.at);
}

static bool take_long_varint(Span *span, uint64_t *value)
{
    const uint8_t *at = span->at;
    uint64_t found = 0;
    for (int shift = 0; shift < 70 && at < span->stop; shift += 7) {
        uint8_t byte = *at++;
        found |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            span->at = at;
            *value = found;
            return true;
        }
    }
    return false;
}

/* Take a varint, modulo 2**64. Nearly all have one byte, and name ids one or two. */
static inline bool take_varint(Span *span, uint64_t *value)
{
    if (span->at < span->stop && *span->at < 0x80) {
        *value = *span->at++;
        return true;
    }
    if (left_in(*span) >= 2 && span->at[1] < 0x80) {
        *value = (uint64_t)(span->at[0] & 0x7F) | (uint64_t)span->at[1] << 7;
        span->at += 2;
        return true;
    }
    return take_long_varint(span, value);
}

/* Take a size and the content behind it. */
static inline bool take_content(Span *span, Span *content)
{
    uint64_t size;
    if (!take_varint(span, &size) || size > left_in(*span))
        return false;
    *content = (Span){span->at, span->at + size};
    span->at += size;
    return true;
}

static inline bool take_field(Span *span, Field *field)
{
    Span content;
    if (!take_varint(span, &field->key))
        return false;
    uint64_t number = field->key >> 3;
    if (number == 0 || number > MAX_FIELD_NUMBER)
        return false;
    field->content = NULL;
    switch (field->key & 7) {
    case VARINT(0):
        return take_varint(span, &field->value);
    case BYTES(0):
        if (!take_content(span, &content))
            return false;
        field->content = content.at;
        field->value = left_in(content);
        return true;
    case FIXED64(0):
        if (left_in(*span) < 8)
            return false;
        field->value = load64(span->at);
        span->at += 8;
        return true;
    case FIXED32(0):
        if (left_in(*span) < 4)
            return false;
        field->value = load32(span->at);
        span->at += 4;
        return true;
    default:
        return false;
    }
}

static inline Span content_of(const Field *field)
{
    return (Span){field->content, field->content + field->value};
}

/* Tell whether Python's strict decoder takes the text: no surrogates, nothing overlong. */
static bool is_utf8(const uint8_t *at, size_t size)
{
    const uint8_t *stop = at + size;
    while (at < stop) {
        if (stop - at >= 8 && !(load64(at) & 0x8080808080808080)) {
            at += 8;
            continue;
        }
        uint8_t lead = *at++;
        if (lead < 0x80)
            continue;
        uint8_t low = 0x80, high = 0xBF; /* bounds of the second byte */
        int more;
        if (lead >= 0xC2 && lead <= 0xDF) {
            more = 1;
        } else if (lead >= 0xE0 && lead <= 0xEF) {
            more = 2;
            low = lead == 0xE0 ? 0xA0 : low;
            high = lead == 0xED ? 0x9F : high;
        } else if (lead >= 0xF0 && lead <= 0xF4) {
            more = 3;
            low = lead == 0xF0 ? 0x90 : low;
            high = lead == 0xF4 ? 0x8F : high;
        } else {
            return false;
        }
        if (stop - at < more || at[0] < low || at[0] > high)
            return false;
        for (int i = 1; i < more; i++)
            if ((at[i] & 0xC0) != 0x80)
                return false;
        at += more;
    }
    return true;
}

/* ---- Memory that Python reads without a copy ------------------------------------------------ */

/* Give an array room for `count` items; where that fails it stays as it is. */
static bool resize(void **items, size_t count, size_t width)
{
    if (count > PY_SSIZE_T_MAX / width)
        return false;
    void *moved = realloc(*items, count ? count * width : 1);
    if (moved == NULL)
        return false;
    *items = moved;
    return true;
}

/* A growing array of int64. */
typedef struct {
    void *items;
    size_t count, capacity;
} Longs;

static Verdict append_longs(Longs *longs, const int64_t *items, size_t count)
{
    if (longs->capacity - longs->count < count) {
        size_t capacity = 2 * longs->capacity + 64;
        if (!resize(&longs->items, capacity, sizeof(int64_t)))
            return NO_MEMORY;
        longs->capacity = capacity;
    }
    memcpy((int64_t *)longs->items + longs->count, items, count * sizeof(int64_t));
    longs->count += count;
    return ACCEPTED;
}

/* An object that owns such memory and lends it through the buffer protocol. */
typedef struct {
    PyObject_HEAD
    void *memory;
    Py_ssize_t size;
} Buffer;

static void buffer_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    free(((Buffer *)self)->memory);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int buffer_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    Buffer *buffer = (Buffer *)self;
    return PyBuffer_FillInfo(view, self, buffer->memory, buffer->size, 0, flags);
}

/* Functions as the void pointers that a type's slots want; ISO C has no direct conversion. */
#define SLOT(function) ((void *)(uintptr_t)(function))

static PyType_Slot BUFFER_SLOTS[] = {
    {Py_tp_dealloc, SLOT(buffer_dealloc)},
    {Py_bf_getbuffer, SLOT(buffer_getbuffer)},
    {0, NULL},
};

static PyType_Spec BUFFER_SPEC = {
    .name = "nsightlens.ncurep._scanner.Buffer",
    .basicsize = sizeof(Buffer),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = BUFFER_SLOTS,
};

/* Turn an array into a Buffer of its first `count` items; the array is then NULL. */
static PyObject *give_away(PyTypeObject *buffer_type, void **items, size_t count, size_t width)
{
    resize(items, count, width); /* gives back what growing took too much; may fail */
    Buffer *buffer = PyObject_New(Buffer, buffer_type);
    if (buffer == NULL)
        return NULL;
    buffer->memory = *items;
    buffer->size = (Py_ssize_t)(count * width);
    *items = NULL;
    return (PyObject *)buffer;
}

/* ---- Blocks and entries --------------------------------------------------------------------- */

/* What an entry is, as numbers that Python and this file share. */
enum { SOURCE, KERNEL, RANGE, CMDLIST, GRAPH, KIND_COUNT };

/* BlockHeader: how many entries of each kind there are, in the order of the payload. */
static const uint32_t ENTRY_COUNTS[KIND_COUNT] = {
    [SOURCE] = VARINT(1),
    [KERNEL] = VARINT(2),
    [RANGE] = VARINT(7),
    [CMDLIST] = VARINT(8),
    [GRAPH] = VARINT(9),
};
enum { SESSION = BYTES(3), STRING_TABLE = BYTES(4), PAYLOAD_SIZE = VARINT(5), PROCESS = BYTES(6) };
enum { LAST_DOCUMENTED_FIELD = 9 };

typedef struct {
    uint32_t entry_counts[KIND_COUNT];
    uint32_t payload_size;
    Span process; /* .at is NULL where there is none */
    bool needs_python;
} BlockHeader;

static Verdict read_block_header(Span bytes, BlockHeader *header)
{
    *header = (BlockHeader){0};
    while (bytes.at < bytes.stop) {
        Field field;
        if (!take_field(&bytes, &field))
            return REFUSED;
        int kind = 0;
        while (kind < KIND_COUNT && ENTRY_COUNTS[kind] != field.key)
            kind++;
        if (kind < KIND_COUNT) {
            header->entry_counts[kind] = (uint32_t)field.value;
        } else if (field.key == PAYLOAD_SIZE) {
            header->payload_size = (uint32_t)field.value;
        } else if (field.key == SESSION || field.key == STRING_TABLE) {
            /* An empty part of a session still says that there is one. */
            header->needs_python |= field.key == SESSION || field.value > 0;
        } else if (field.key == PROCESS) {
            if (header->process.at != NULL) /* would have to be merged */
                return REFUSED;
            header->process = content_of(&field);
        } else if (field.key >> 3 <= LAST_DOCUMENTED_FIELD) {
            return REFUSED; /* of another wire type than documented */
        } else {
            header->needs_python = true;
        }
    }
    return ACCEPTED;
}

static bool same_bytes(Span one, Span other)
{
    return left_in(one) == left_in(other) && memcmp(one.at, other.at, left_in(one)) == 0;
}

/* Index the block at the start of `rest` and step over it. */
static Verdict index_block(const uint8_t *file, Span *rest, Longs *blocks, Longs *entries,
                           int64_t ordinal, Span *last_process)
{
    Span at = *rest;
    if (left_in(at) < 4)
        return REFUSED;
    uint32_t header_size = load32(at.at);
    at.at += 4;
    if (header_size == 0 || header_size > left_in(at)) /* zeros may be padding, or a hole */
        return REFUSED;
    Span bytes = {at.at, at.at + header_size};
    BlockHeader header;
    TRY(read_block_header(bytes, &header));
    at.at = bytes.stop;
    if (header.payload_size > left_in(at))
        return REFUSED;
    Span payload = {at.at, at.at + header.payload_size};
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        for (uint32_t left = header.entry_counts[kind]; left > 0; left--) {
            if (left_in(payload) < 4 || load32(payload.at) > left_in(payload) - 4)
                return REFUSED;
            int64_t start = payload.at + 4 - file, size = load32(payload.at);
            TRY(append_longs(entries, (int64_t[]){ordinal, kind, start, start + size}, 4));
            payload.at += 4 + size;
        }
    }
    if (payload.at != payload.stop)
        return REFUSED;
    bool has_process = header.process.at != NULL;
    if (has_process) {
        /* Most blocks repeat the process of the one before: told apart by where it stands, so that
         * Python decodes it once. */
        if (last_process->at == NULL || !same_bytes(header.process, *last_process))
            *last_process = header.process;
        header.process = *last_process;
    }
    int64_t block[] = {
        at.at - header_size - file,
        at.at - file,
        payload.stop - file,
        has_process ? header.process.at - file : -1,
        has_process ? header.process.stop - file : -1,
        header.needs_python,
    };
    TRY(append_longs(blocks, block, 6));
    rest->at = payload.stop;
    return ACCEPTED;
}

/* ---- Messages: which field of a result goes where -------------------------------------------- */

/* Every message that becomes a row is first read into slots: the last occurrence of a field wins.
 * Parts of one embedded message that occurs twice are read into the same slots, which merges them.
 */
typedef struct {
    bool is_set;
    uint64_t value; /* the number, or the size of the text */
    const uint8_t *text;
} Slot;

enum { PARENT, NOWHERE, FIRST_SLOT };

enum {
    THREAD_ID = FIRST_SLOT, API_CALL_ID, CONTEXT_ID, STREAM_ID, CREATION_TIME, UNSUPPORTED_DEVICE,
    CLOCK_EXECUTED, PROGRAM_HANDLE, KERNEL_ID, DIMENSION_COUNT, WORK_OFFSET, SOURCE_REFERENCE,
    GRID, GRID_X, GRID_Y, GRID_Z, BLOCK, BLOCK_X, BLOCK_Y, BLOCK_Z,
    MANGLED_NAME, FUNCTION_NAME, DEMANGLED_NAME, CONTEXT_NAME, STREAM_NAME, NVTX,
    SLOT_COUNT, /* a launch has the most */
};
enum { RULE_IDENTIFIER = FIRST_SLOT, RULE_DISPLAY_NAME, RULE_SECTION };
enum {
    ITEM_MESSAGE = FIRST_SLOT, ITEM_SEVERITY, ITEM_TITLE, ITEM_TEXT,
    ITEM_SPEEDUP, ITEM_SPEEDUP_PCT, ITEM_SPEEDUP_SCOPE,
};
enum { NVTX_ID = FIRST_SLOT, NVTX_NAME }; /* of a domain or thread */
enum {
    RANGE_ID = FIRST_SLOT, RANGE_NAME, RANGE_THREAD_ID, RANGE_CATEGORY, RANGE_COLOR, RANGE_MESSAGE,
    PAYLOAD_U64, PAYLOAD_I64, PAYLOAD_F64, PAYLOAD_U32, PAYLOAD_I32, PAYLOAD_F32, PAYLOAD_TEXT,
};

enum { OPTION_RULES = 2, OPTION_NVTX = 4 };

/* One field of a message. A table of them ends with a key of 0. */
typedef struct Part {
    uint32_t key;
    uint8_t slot;
    bool is_required;
    uint8_t option;                /* which of OPTION_* must be on for its content to be read */
    const struct Part *embedded;   /* the fields of a message that occurs once */
    const struct Record *repeated; /* the rows of one that may occur more often */
} Part;

#define SCALAR(key, slot) {key, slot, false, 0, NULL, NULL}
#define REQUIRED(key, slot) {key, slot, true, 0, NULL, NULL}
#define EMBEDDED(key, slot, parts) {key, slot, false, 0, parts, NULL}
#define REPEATED(key, record) {key, NOWHERE, false, 0, NULL, record}
#define END {0, NOWHERE, false, 0, NULL, NULL}

enum {
    LAUNCH_TABLE, RULE_TABLE, ITEM_TABLE, DOMAIN_TABLE, THREAD_TABLE, STACK_TABLE,
    START_END_TABLE, RANGE_TABLE, INSTANCE_TABLE, REPEAT_TABLE, TEXT_TABLE, TABLE_COUNT,
};

/* A message that becomes a row; it has none where `row_needs` is not set. */
typedef struct Record {
    uint8_t table, row_needs;
    const Part *parts;
} Record;

static const Part SPEEDUP[] = {
    SCALAR(VARINT(1), ITEM_SPEEDUP_SCOPE), SCALAR(FIXED64(2), ITEM_SPEEDUP_PCT), END,
};
static const Part RULE_MESSAGE[] = {
    SCALAR(BYTES(1), ITEM_TEXT), SCALAR(VARINT(2), ITEM_SEVERITY), SCALAR(BYTES(4), ITEM_TITLE),
    END,
};
static const Part RULE_ITEM[] = {
    EMBEDDED(BYTES(1), ITEM_MESSAGE, RULE_MESSAGE), EMBEDDED(BYTES(10), ITEM_SPEEDUP, SPEEDUP), END,
};
static const Record RULE_ITEMS = {ITEM_TABLE, ITEM_MESSAGE, RULE_ITEM};
static const Part RULE_BODY[] = {REPEATED(BYTES(1), &RULE_ITEMS), END};
static const Part RULE_RESULT[] = {
    REQUIRED(BYTES(1), RULE_IDENTIFIER),
    REQUIRED(BYTES(2), RULE_DISPLAY_NAME),
    EMBEDDED(BYTES(3), NOWHERE, RULE_BODY),
    SCALAR(BYTES(4), RULE_SECTION),
    END,
};
static const Record RULES = {RULE_TABLE, PARENT, RULE_RESULT};

static const Part COLOR[] = {SCALAR(VARINT(2), RANGE_COLOR), END};
static const Part NVTX_TEXT[] = {SCALAR(BYTES(2), RANGE_MESSAGE), END};
static const Part PAYLOAD[] = {
    SCALAR(VARINT(2), PAYLOAD_U64),  SCALAR(VARINT(3), PAYLOAD_I64), SCALAR(FIXED64(4), PAYLOAD_F64),
    SCALAR(VARINT(5), PAYLOAD_U32),  SCALAR(VARINT(6), PAYLOAD_I32), SCALAR(FIXED32(7), PAYLOAD_F32),
    SCALAR(BYTES(8), PAYLOAD_TEXT),  END,
};
static const Part ATTRIBUTES[] = {
    SCALAR(VARINT(2), RANGE_CATEGORY),
    EMBEDDED(BYTES(3), NOWHERE, COLOR),
    EMBEDDED(BYTES(4), NOWHERE, PAYLOAD),
    EMBEDDED(BYTES(5), NOWHERE, NVTX_TEXT),
    END,
};
static const Part PUSH_POP_RANGE[] = {
    REQUIRED(BYTES(1), RANGE_NAME), EMBEDDED(BYTES(2), NOWHERE, ATTRIBUTES), END,
};
static const Part START_END_RANGE[] = {
    REQUIRED(VARINT(1), RANGE_ID),
    REQUIRED(BYTES(2), RANGE_NAME),
    EMBEDDED(BYTES(3), NOWHERE, ATTRIBUTES),
    SCALAR(VARINT(5), RANGE_THREAD_ID),
    END,
};
static const Record PUSH_POP_RANGES = {RANGE_TABLE, PARENT, PUSH_POP_RANGE};
static const Record START_END_RANGES = {RANGE_TABLE, PARENT, START_END_RANGE};
static const Part PUSH_POP_DOMAIN[] = {
    SCALAR(VARINT(1), NVTX_ID), REPEATED(BYTES(3), &PUSH_POP_RANGES), END,
};
static const Part START_END_DOMAIN[] = {
    SCALAR(VARINT(1), NVTX_ID), REPEATED(BYTES(3), &START_END_RANGES), END,
};
static const Record STACKS = {STACK_TABLE, PARENT, PUSH_POP_DOMAIN};
static const Part NVTX_DOMAIN[] = {
    SCALAR(VARINT(1), NVTX_ID), SCALAR(BYTES(2), NVTX_NAME), END,
};
static const Part NVTX_THREAD[] = {
    SCALAR(VARINT(1), NVTX_ID), REPEATED(BYTES(2), &STACKS), END,
};
static const Record DOMAINS = {DOMAIN_TABLE, PARENT, NVTX_DOMAIN};
static const Record THREADS = {THREAD_TABLE, PARENT, NVTX_THREAD};
static const Record START_END_DOMAINS = {START_END_TABLE, PARENT, START_END_DOMAIN};
static const Part NVTX_STATE[] = {
    REPEATED(BYTES(1), &DOMAINS), REPEATED(BYTES(2), &THREADS),
    REPEATED(BYTES(3), &START_END_DOMAINS), END,
};

static const Part CLOCK_STATUS[] = {SCALAR(VARINT(2), CLOCK_EXECUTED), END};
static const Part GRID_SIZE[] = {
    SCALAR(VARINT(1), GRID_X), SCALAR(VARINT(2), GRID_Y), SCALAR(VARINT(3), GRID_Z), END,
};
static const Part BLOCK_SIZE[] = {
    SCALAR(VARINT(1), BLOCK_X), SCALAR(VARINT(2), BLOCK_Y), SCALAR(VARINT(3), BLOCK_Z), END,
};

#define RULES_IN(number) {BYTES(number), NOWHERE, false, OPTION_RULES, NULL, &RULES}
#define NVTX_IN(number) {BYTES(number), NVTX, false, OPTION_NVTX, NVTX_STATE, NULL}
#define CLOCKS_IN(number) EMBEDDED(BYTES(number), NOWHERE, CLOCK_STATUS)

static const Part KERNEL_RESULT[] = {
    REQUIRED(VARINT(1), THREAD_ID),       REQUIRED(VARINT(2), API_CALL_ID),
    REQUIRED(VARINT(3), PROGRAM_HANDLE),  REQUIRED(VARINT(4), KERNEL_ID),
    REQUIRED(BYTES(5), MANGLED_NAME),     REQUIRED(BYTES(6), FUNCTION_NAME),
    REQUIRED(BYTES(7), DEMANGLED_NAME),   REQUIRED(VARINT(8), DIMENSION_COUNT),
    REQUIRED(BYTES(9), WORK_OFFSET),      {BYTES(10), GRID, true, 0, GRID_SIZE, NULL},
    {BYTES(11), BLOCK, true, 0, BLOCK_SIZE, NULL},
    SCALAR(VARINT(14), CREATION_TIME),    REQUIRED(BYTES(15), SOURCE_REFERENCE),
    RULES_IN(19),                         SCALAR(VARINT(20), UNSUPPORTED_DEVICE),
    NVTX_IN(21),                          SCALAR(VARINT(22), CONTEXT_ID),
    SCALAR(VARINT(23), STREAM_ID),        CLOCKS_IN(25),
    SCALAR(BYTES(26), CONTEXT_NAME),      SCALAR(BYTES(27), STREAM_NAME),
    END,
};
static const Part RANGE_RESULT[] = {
    SCALAR(VARINT(1), THREAD_ID),         SCALAR(VARINT(2), API_CALL_ID),
    SCALAR(VARINT(5), CREATION_TIME),     SCALAR(VARINT(9), UNSUPPORTED_DEVICE),
    NVTX_IN(10),                          SCALAR(VARINT(11), CONTEXT_ID),
    CLOCKS_IN(12),                        SCALAR(BYTES(13), CONTEXT_NAME),
    END,
};
#define GRAPH_FIELDS                                                              \
    SCALAR(VARINT(1), THREAD_ID), SCALAR(VARINT(2), API_CALL_ID),                 \
    SCALAR(VARINT(5), CREATION_TIME), SCALAR(VARINT(9), UNSUPPORTED_DEVICE),      \
    NVTX_IN(10), SCALAR(VARINT(11), CONTEXT_ID), SCALAR(VARINT(12), STREAM_ID),   \
    CLOCKS_IN(13), SCALAR(BYTES(14), CONTEXT_NAME), SCALAR(BYTES(15), STREAM_NAME)
static const Part GRAPH_RESULT[] = {GRAPH_FIELDS, END};
static const Part CMDLIST_RESULT[] = {
    GRAPH_FIELDS, SCALAR(BYTES(18), FUNCTION_NAME), RULES_IN(21), END,
};

typedef struct {
    uint32_t metrics_key;
    Record record;
} ResultKind;

static const ResultKind RESULT_KINDS[KIND_COUNT] = {
    [KERNEL] = {BYTES(13), {LAUNCH_TABLE, PARENT, KERNEL_RESULT}},
    [RANGE] = {BYTES(4), {LAUNCH_TABLE, PARENT, RANGE_RESULT}},
    [CMDLIST] = {BYTES(4), {LAUNCH_TABLE, PARENT, CMDLIST_RESULT}},
    [GRAPH] = {BYTES(4), {LAUNCH_TABLE, PARENT, GRAPH_RESULT}},
};

/* ---- Tables: columns that rows are appended to ----------------------------------------------- */

/* IS_SET is 1 where the slot is set, BOOL 1 where its value is not 0. */
typedef enum { IS_SET, BOOL, WORD, LONG, TEXT } ColumnType;

static const uint8_t WIDTHS[] = {[IS_SET] = 1, [BOOL] = 1, [WORD] = 4, [LONG] = 8, [TEXT] = 8};

/* A column takes the value of one slot, and is null where `valid_slot` is not set. */
typedef struct {
    const char *name;
    ColumnType type;
    uint8_t slot, valid_slot;
} ColumnSpec;

#define ALWAYS PARENT /* the one slot that always is set */
enum { MAX_COLUMNS = 20 };

typedef struct {
    const char *name;
    ColumnSpec columns[MAX_COLUMNS]; /* ends with a name of NULL */
} TableSpec;

/* Columns of INSTANCE_TABLE, which is filled directly: the instances can be most of a file. Of the
 * types of these columns only the width counts. */
enum {
    INSTANCE_LAUNCH, INSTANCE_NAME, INSTANCE_ORDINAL, CORRELATION_KIND, CORRELATION_RAW,
    INSTANCE_KIND, INSTANCE_RAW,
};

static const TableSpec TABLES[TABLE_COUNT] = {
    [LAUNCH_TABLE] = {"launch", {
        {"thread_id", WORD, THREAD_ID, THREAD_ID},
        {"api_call_id", LONG, API_CALL_ID, API_CALL_ID},
        {"context_id", WORD, CONTEXT_ID, CONTEXT_ID},
        {"stream_id", WORD, STREAM_ID, STREAM_ID},
        {"creation_time", LONG, CREATION_TIME, CREATION_TIME},
        {"is_unsupported_device", BOOL, UNSUPPORTED_DEVICE, ALWAYS},
        {"is_clock_locked", BOOL, CLOCK_EXECUTED, CLOCK_EXECUTED},
        {"grid_x", LONG, GRID_X, GRID},
        {"grid_y", LONG, GRID_Y, GRID},
        {"grid_z", LONG, GRID_Z, GRID},
        {"block_x", LONG, BLOCK_X, BLOCK},
        {"block_y", LONG, BLOCK_Y, BLOCK},
        {"block_z", LONG, BLOCK_Z, BLOCK},
        {"mangled_name", TEXT, MANGLED_NAME, MANGLED_NAME},
        {"function_name", TEXT, FUNCTION_NAME, FUNCTION_NAME},
        {"demangled_name", TEXT, DEMANGLED_NAME, DEMANGLED_NAME},
        {"context_name", TEXT, CONTEXT_NAME, CONTEXT_NAME},
        {"stream_name", TEXT, STREAM_NAME, STREAM_NAME},
        {"has_nvtx", IS_SET, NVTX, ALWAYS},
    }},
    [RULE_TABLE] = {"rule", {
        {"launch", WORD, PARENT, ALWAYS},
        {"identifier", TEXT, RULE_IDENTIFIER, ALWAYS},
        {"display_name", TEXT, RULE_DISPLAY_NAME, ALWAYS},
        {"section", TEXT, RULE_SECTION, RULE_SECTION},
    }},
    [ITEM_TABLE] = {"rule_item", {
        {"rule", WORD, PARENT, ALWAYS},
        {"severity", WORD, ITEM_SEVERITY, ALWAYS},
        {"title", TEXT, ITEM_TITLE, ITEM_TITLE},
        {"message", TEXT, ITEM_TEXT, ITEM_TEXT},
        {"speedup_pct", LONG, ITEM_SPEEDUP_PCT, ITEM_SPEEDUP_PCT},
        {"has_speedup", IS_SET, ITEM_SPEEDUP, ALWAYS},
        {"speedup_scope", WORD, ITEM_SPEEDUP_SCOPE, ITEM_SPEEDUP_SCOPE},
    }},
    [DOMAIN_TABLE] = {"nvtx_domain", {
        {"launch", WORD, PARENT, ALWAYS},
        {"domain_id", LONG, NVTX_ID, ALWAYS},
        {"name", TEXT, NVTX_NAME, ALWAYS},
    }},
    [THREAD_TABLE] = {"nvtx_thread", {
        {"launch", WORD, PARENT, ALWAYS},
        {"thread_id", WORD, NVTX_ID, NVTX_ID},
    }},
    [STACK_TABLE] = {"nvtx_stack", {
        {"thread", WORD, PARENT, ALWAYS},
        {"domain_id", LONG, NVTX_ID, ALWAYS},
    }},
    [START_END_TABLE] = {"nvtx_start_end_domain", {
        {"launch", WORD, PARENT, ALWAYS},
        {"domain_id", LONG, NVTX_ID, ALWAYS},
    }},
    [RANGE_TABLE] = {"nvtx_range", {
        {"parent", WORD, PARENT, ALWAYS},
        {"is_start_end", IS_SET, RANGE_ID, ALWAYS}, /* only they have an id, and need one */
        {"name", TEXT, RANGE_NAME, ALWAYS},
        {"range_id", LONG, RANGE_ID, RANGE_ID},
        {"start_thread_id", WORD, RANGE_THREAD_ID, RANGE_THREAD_ID},
        {"category", WORD, RANGE_CATEGORY, RANGE_CATEGORY},
        {"color", WORD, RANGE_COLOR, RANGE_COLOR},
        {"message", TEXT, RANGE_MESSAGE, RANGE_MESSAGE},
        {"payload_u64", LONG, PAYLOAD_U64, PAYLOAD_U64},
        {"payload_i64", LONG, PAYLOAD_I64, PAYLOAD_I64},
        {"payload_f64", LONG, PAYLOAD_F64, PAYLOAD_F64},
        {"payload_u32", WORD, PAYLOAD_U32, PAYLOAD_U32},
        {"payload_i32", WORD, PAYLOAD_I32, PAYLOAD_I32},
        {"payload_f32", WORD, PAYLOAD_F32, PAYLOAD_F32},
        {"payload_text", TEXT, PAYLOAD_TEXT, PAYLOAD_TEXT},
    }},
    [INSTANCE_TABLE] = {"instance", {
        [INSTANCE_LAUNCH] = {"launch", WORD, NOWHERE, ALWAYS},
        [INSTANCE_NAME] = {"name", WORD, NOWHERE, ALWAYS},
        [INSTANCE_ORDINAL] = {"ordinal", WORD, NOWHERE, ALWAYS},
        [CORRELATION_KIND] = {"correlation_kind", BOOL, NOWHERE, ALWAYS},
        [CORRELATION_RAW] = {"correlation_raw", LONG, NOWHERE, ALWAYS},
        [INSTANCE_KIND] = {"kind", BOOL, NOWHERE, ALWAYS},
        [INSTANCE_RAW] = {"raw", LONG, NOWHERE, ALWAYS},
    }},
    /* A metric that a launch has had already: the instances of this occurrence replace those. */
    [REPEAT_TABLE] = {"repeat", {
        [INSTANCE_LAUNCH] = {"launch", WORD, NOWHERE, ALWAYS},
        [INSTANCE_NAME] = {"name", WORD, NOWHERE, ALWAYS},
        [INSTANCE_ORDINAL] = {"ordinal", WORD, NOWHERE, ALWAYS},
    }},
    [TEXT_TABLE] = {"text", {{"text", TEXT, NOWHERE, ALWAYS}}},
};

typedef struct {
    void *values;  /* numbers, or for a text the offsets into `data`: one more than there are rows */
    void *valid;   /* a byte per row; NULL where the column never is null */
    void *data;
    size_t data_capacity;
} Column;

typedef struct {
    const TableSpec *spec;
    Column columns[MAX_COLUMNS];
    size_t row_count, capacity;
} Table;

/* Make room for one row more. */
static Verdict reserve_row(Table *table)
{
    if (table->row_count < table->capacity)
        return ACCEPTED;
    if (table->row_count == UINT32_MAX) /* rows are numbered with 32 bits */
        return REFUSED;
    size_t capacity = 2 * table->capacity + 16;
    for (int i = 0; table->spec->columns[i].name != NULL; i++) {
        const ColumnSpec *spec = &table->spec->columns[i];
        Column *column = &table->columns[i];
        if (!resize(&column->values, capacity + 1, WIDTHS[spec->type]))
            return NO_MEMORY;
        if (spec->valid_slot != ALWAYS && !resize(&column->valid, capacity, 1))
            return NO_MEMORY;
        if (table->capacity == 0 && spec->type == TEXT) {
            *(int64_t *)column->values = 0;
            if (!resize(&column->data, 0, 1))
                return NO_MEMORY;
        }
    }
    table->capacity = capacity;
    return ACCEPTED;
}

/* Set a text in a row that `reserve_row` made room for. The texts end where the offset of the first
 * row that is not there yet says, so a row that is given up leaves nothing behind. */
static Verdict set_text(Column *column, size_t row, const uint8_t *text, size_t size)
{
    int64_t *offsets = column->values;
    size_t used = (size_t)offsets[row];
    if (size > 0) {
        if (!is_utf8(text, size))
            return REFUSED;
        if (size > column->data_capacity - used) {
            size_t capacity = 2 * column->data_capacity + size;
            if (!resize(&column->data, capacity, 1))
                return NO_MEMORY;
            column->data_capacity = capacity;
        }
        memcpy((uint8_t *)column->data + used, text, size);
    }
    offsets[row + 1] = (int64_t)(used + size);
    return ACCEPTED;
}

static Verdict append_row(Table *table, const Slot *slots)
{
    TRY(reserve_row(table));
    size_t row = table->row_count;
    for (int i = 0; table->spec->columns[i].name != NULL; i++) {
        const ColumnSpec *spec = &table->spec->columns[i];
        const Slot *slot = &slots[spec->slot];
        Column *column = &table->columns[i];
        if (column->valid != NULL)
            ((uint8_t *)column->valid)[row] = slots[spec->valid_slot].is_set;
        switch (spec->type) {
        case IS_SET:
            ((uint8_t *)column->values)[row] = slot->is_set;
            break;
        case BOOL:
            ((uint8_t *)column->values)[row] = slot->value != 0;
            break;
        case WORD:
            ((uint32_t *)column->values)[row] = (uint32_t)slot->value;
            break;
        case LONG:
            ((uint64_t *)column->values)[row] = slot->value;
            break;
        case TEXT:
            TRY(set_text(column, row, slot->text, (size_t)slot->value));
            break;
        }
    }
    table->row_count++;
    return ACCEPTED;
}

/* ---- The builder ----------------------------------------------------------------------------- */

/* The values of one metric, by launch. */
typedef struct {
    uint32_t name;
    void *raw, *kind;
} MetricColumn;

typedef struct {
    PyObject_HEAD
    Py_buffer file; /* .obj is NULL once it is closed */
    bool is_busy;   /* scanning without the GIL */
    size_t launch_count, string_count;
    uint8_t *wanted;     /* by name id: WANT_* */
    uint32_t *canonical; /* by name id: the first id that spells the same name */
    uint32_t *metric_of; /* by canonical id: 1 + position in `metrics`, 0 where none is there yet */
    uint8_t options;
    Table tables[TABLE_COUNT];
    void *metrics; /* of MetricColumn, in order of first sight */
    size_t metric_count, metric_capacity;
} Builder;

enum { WANT_SCALAR = 1, WANT_INSTANCES = 2 };

/* How a value is stored; 0 is that of a metric that a launch does not have. */
enum { NO_VALUE = 1, INTEGER, DOUBLE, TEXT_VALUE };

typedef struct {
    uint8_t kind;
    uint64_t raw; /* the integer, the bits of the double, or the size of the text */
    const uint8_t *text;
} Value;

/* Read a MetricValue; the last one set counts. */
static inline bool read_value(Span bytes, Value *value)
{
    if (left_in(bytes) == 9 && *bytes.at == FIXED64(3)) { /* as most are */
        *value = (Value){DOUBLE, load64(bytes.at + 1), NULL};
        return true;
    }
    *value = (Value){NO_VALUE, 0, NULL};
    while (bytes.at < bytes.stop) {
        Field field;
        if (!take_field(&bytes, &field))
            return false;
        switch (field.key) {
        case BYTES(1):
            *value = (Value){TEXT_VALUE, field.value, field.content};
            break;
        case FIXED32(2): {
            uint32_t bits = (uint32_t)field.value;
            float single;
            memcpy(&single, &bits, sizeof single);
            double wide = single;
            *value = (Value){DOUBLE, 0, NULL};
            memcpy(&value->raw, &wide, sizeof wide);
            break;
        }
        case FIXED64(3):
            *value = (Value){DOUBLE, field.value, NULL};
            break;
        case VARINT(4):
            *value = (Value){INTEGER, (uint32_t)field.value, NULL};
            break;
        case VARINT(5):
            *value = (Value){INTEGER, field.value, NULL};
            break;
        }
    }
    return true;
}

/* Replace the text of a value by its row among the texts. */
static Verdict keep_text(Builder *builder, Value *value)
{
    if (value->kind != TEXT_VALUE)
        return ACCEPTED;
    Table *texts = &builder->tables[TEXT_TABLE];
    TRY(reserve_row(texts));
    TRY(set_text(&texts->columns[0], texts->row_count, value->text, (size_t)value->raw));
    value->raw = texts->row_count++;
    return ACCEPTED;
}

static Verdict add_metric(Builder *builder, uint32_t name)
{
    /* A column is as long as the file has launches, so a small file with many of both could ask
     * for far more memory than it has bytes. Python's columns have a row per value instead. */
    uint64_t cells = (uint64_t)(builder->metric_count + 1) * builder->launch_count;
    if (cells > (uint64_t)builder->file.len + 1000000)
        return REFUSED;
    if (builder->metric_count == builder->metric_capacity) {
        size_t capacity = 2 * builder->metric_capacity + 64;
        if (!resize(&builder->metrics, capacity, sizeof(MetricColumn)))
            return NO_MEMORY;
        builder->metric_capacity = capacity;
    }
    MetricColumn column = {
        name, calloc(builder->launch_count, sizeof(uint64_t)), calloc(builder->launch_count, 1)};
    if (column.raw == NULL || column.kind == NULL) {
        free(column.raw);
        free(column.kind);
        return NO_MEMORY;
    }
    ((MetricColumn *)builder->metrics)[builder->metric_count++] = column;
    builder->metric_of[name] = (uint32_t)builder->metric_count;
    return ACCEPTED;
}

static inline Verdict set_metric(Builder *builder, uint32_t name, uint32_t launch, Value *value)
{
    if (builder->metric_of[name] == 0)
        TRY(add_metric(builder, name));
    TRY(keep_text(builder, value));
    MetricColumn *column = (MetricColumn *)builder->metrics + builder->metric_of[name] - 1;
    ((uint64_t *)column->raw)[launch] = value->raw;
    ((uint8_t *)column->kind)[launch] = value->kind;
    return ACCEPTED;
}

/* Tell whether a launch has a metric already. */
static inline bool has_metric(const Builder *builder, uint32_t name, uint32_t launch)
{
    uint32_t position = builder->metric_of[name];
    const MetricColumn *metrics = builder->metrics;
    return position != 0 && ((const uint8_t *)metrics[position - 1].kind)[launch] != 0;
}

/* Append a row of the columns that instances and repeats begin with. */
static Verdict append_occurrence(Table *table, uint32_t launch, uint32_t name, uint32_t ordinal)
{
    TRY(reserve_row(table));
    size_t row = table->row_count++;
    ((uint32_t *)table->columns[INSTANCE_LAUNCH].values)[row] = launch;
    ((uint32_t *)table->columns[INSTANCE_NAME].values)[row] = name;
    ((uint32_t *)table->columns[INSTANCE_ORDINAL].values)[row] = ordinal;
    return ACCEPTED;
}

static Verdict read_instance(Span bytes, Value *correlation, Value *element)
{
    *correlation = (Value){NO_VALUE, 0, NULL};
    bool has_element = false;
    while (bytes.at < bytes.stop) {
        Span content;
        Field ignored;
        uint8_t key = *bytes.at;
        if (key != BYTES(1) && key != BYTES(2)) {
            if (!take_field(&bytes, &ignored))
                return REFUSED;
            continue;
        }
        bytes.at++;
        if (!take_content(&bytes, &content))
            return REFUSED;
        if (!read_value(content, key == BYTES(1) ? correlation : element))
            return REFUSED;
        has_element |= key == BYTES(2);
    }
    return has_element ? ACCEPTED : REFUSED;
}

/* Append the instances of a metric whose fields are known to be sound. */
static Verdict scan_instances(Builder *builder, Span metric, uint32_t name, uint32_t launch,
                              uint32_t ordinal)
{
    Table *table = &builder->tables[INSTANCE_TABLE];
    Column *columns = table->columns;
    while (metric.at < metric.stop) {
        Span content;
        Field ignored;
        if (*metric.at != BYTES(3)) {
            if (!take_field(&metric, &ignored))
                return REFUSED;
            continue;
        }
        metric.at++;
        if (!take_content(&metric, &content))
            return REFUSED;
        Value correlation, element;
        TRY(read_instance(content, &correlation, &element));
        TRY(keep_text(builder, &correlation));
        TRY(keep_text(builder, &element));
        TRY(append_occurrence(table, launch, name, ordinal));
        size_t row = table->row_count - 1;
        ((uint8_t *)columns[CORRELATION_KIND].values)[row] = correlation.kind;
        ((uint64_t *)columns[CORRELATION_RAW].values)[row] = correlation.raw;
        ((uint8_t *)columns[INSTANCE_KIND].values)[row] = element.kind;
        ((uint64_t *)columns[INSTANCE_RAW].values)[row] = element.raw;
    }
    return ACCEPTED;
}

/* Step over instances of less than 128 bytes, as nearly all are: they can be most of a file. */
static inline void skip_small_instances(Span *rest)
{
    const uint8_t *at = rest->at, *stop = rest->stop;
    while (stop - at >= 2 && at[0] == BYTES(3) && at[1] < 0x80 && at[1] <= stop - at - 2) {
        /* Most have the size of the one before. To look at some ahead at once does not wait for
         * the memory of each, and if all of them say that size, that is where they are. */
        int64_t step = 2 + at[1];
        uint32_t head = load16(at);
        at += step;
        while (stop - at >= 4 * step
               && !((load16(at) ^ head) | (load16(at + step) ^ head)
                    | (load16(at + 2 * step) ^ head) | (load16(at + 3 * step) ^ head)))
            at += 4 * step;
    }
    rest->at = at;
}

/* Read one metric: the hot path, once per metric and launch. Like its twin in Python it takes
 * fields whose key is spelled in one byte, and for others only sees to it that they are sound. */
static Verdict scan_metric(Builder *builder, Span metric, uint32_t launch, uint32_t ordinal)
{
    Span rest = metric;
    uint64_t name = UINT64_MAX;
    Value value = {NO_VALUE, 0, NULL};
    bool has_instances = false;
    while (rest.at < rest.stop) {
        Span content;
        Field ignored;
        switch (*rest.at) {
        case VARINT(1):
            rest.at++;
            if (!take_varint(&rest, &name))
                return REFUSED;
            name = (uint32_t)name;
            break;
        case BYTES(2):
            rest.at++;
            if (!take_content(&rest, &content) || !read_value(content, &value))
                return REFUSED;
            break;
        case BYTES(3):
            skip_small_instances(&rest);
            has_instances = true;
            if (rest.at == rest.stop || *rest.at != BYTES(3))
                break;
            rest.at++;
            if (!take_content(&rest, &content))
                return REFUSED;
            break;
        default:
            if (!take_field(&rest, &ignored))
                return REFUSED;
        }
    }
    if (name >= builder->string_count)
        return REFUSED;
    uint8_t wanted = builder->wanted[name];
    uint32_t canonical = builder->canonical[name];
    if (wanted & WANT_INSTANCES && has_metric(builder, canonical, launch))
        TRY(append_occurrence(&builder->tables[REPEAT_TABLE], launch, canonical, ordinal));
    if (wanted & WANT_SCALAR)
        TRY(set_metric(builder, canonical, launch, &value));
    if (wanted & WANT_INSTANCES && has_instances)
        TRY(scan_instances(builder, metric, canonical, launch, ordinal));
    return ACCEPTED;
}

static Verdict read_record(Builder *builder, Span bytes, const Record *record, size_t parent);

/* Take one field of a message whose row will be `row`. */
static Verdict take_part(Builder *builder, const Field *field, const Part *parts, Slot *slots,
                         size_t row)
{
    const Part *part = parts;
    while (part->key != field->key)
        if ((part++)->key == 0)
            return ACCEPTED;
    slots[part->slot] = (Slot){true, field->value, field->content};
    if (part->option & ~builder->options)
        return ACCEPTED;
    if (part->repeated != NULL)
        return read_record(builder, content_of(field), part->repeated, row);
    if (part->embedded == NULL)
        return ACCEPTED;
    Span bytes = content_of(field);
    while (bytes.at < bytes.stop) {
        Field inner;
        if (!take_field(&bytes, &inner))
            return REFUSED;
        TRY(take_part(builder, &inner, part->embedded, slots, row));
    }
    return ACCEPTED;
}

/* Append the row of a message whose fields are all in the slots. */
static Verdict finish_record(Builder *builder, const Record *record, const Slot *slots)
{
    for (const Part *part = record->parts; part->key != 0; part++)
        if (part->is_required && !slots[part->slot].is_set)
            return REFUSED;
    if (!slots[record->row_needs].is_set)
        return ACCEPTED;
    return append_row(&builder->tables[record->table], slots);
}

/* Read a message and append its row, behind those of the messages in it. */
static Verdict read_record(Builder *builder, Span bytes, const Record *record, size_t parent)
{
    Slot slots[SLOT_COUNT] = {[PARENT] = {true, parent, NULL}};
    size_t row = builder->tables[record->table].row_count;
    while (bytes.at < bytes.stop) {
        Field field;
        if (!take_field(&bytes, &field))
            return REFUSED;
        TRY(take_part(builder, &field, record->parts, slots, row));
    }
    return finish_record(builder, record, slots);
}

/* Read a result: a record that has metrics too. */
static Verdict scan_result(Builder *builder, Span bytes, const ResultKind *kind)
{
    Slot slots[SLOT_COUNT] = {[PARENT] = {true, 0, NULL}};
    size_t row = builder->tables[LAUNCH_TABLE].row_count;
    uint32_t metric_count = 0;
    while (bytes.at < bytes.stop) {
        Span metric;
        if (*bytes.at == kind->metrics_key) { /* as nearly all fields: in one byte */
            bytes.at++;
            if (!take_content(&bytes, &metric))
                return REFUSED;
        } else {
            Field field;
            if (!take_field(&bytes, &field))
                return REFUSED;
            if (field.key != kind->metrics_key) {
                TRY(take_part(builder, &field, kind->record.parts, slots, row));
                continue;
            }
            metric = content_of(&field);
        }
        TRY(scan_metric(builder, metric, (uint32_t)row, metric_count++));
    }
    return finish_record(builder, &kind->record, slots);
}

/* Give up the row being scanned, and whatever came with it. */
static void roll_back(Builder *builder, const size_t *row_counts, size_t metric_count)
{
    MetricColumn *metrics = builder->metrics;
    while (builder->metric_count > metric_count) {
        MetricColumn *column = &metrics[--builder->metric_count];
        builder->metric_of[column->name] = 0;
        free(column->raw);
        free(column->kind);
    }
    size_t row = row_counts[LAUNCH_TABLE];
    for (size_t i = 0; i < metric_count; i++) {
        ((uint64_t *)metrics[i].raw)[row] = 0;
        ((uint8_t *)metrics[i].kind)[row] = 0;
    }
    for (int i = 0; i < TABLE_COUNT; i++)
        builder->tables[i].row_count = row_counts[i];
}

/* Append rows of nulls until there are `row_count`. */
static Verdict fill_launches(Builder *builder, size_t row_count)
{
    static const Slot NOTHING[SLOT_COUNT];
    Table *launches = &builder->tables[LAUNCH_TABLE];
    while (launches->row_count < row_count)
        TRY(append_row(launches, NOTHING));
    return ACCEPTED;
}

/* An entry of a payload: the bytes of one result. */
typedef struct {
    Span bytes;
    const ResultKind *kind;
} Entry;

/* Scan results until one is refused; `done` becomes the number before it. */
static Verdict scan_results(Builder *builder, size_t first_row, const Entry *entries, size_t count,
                            size_t *done)
{
    TRY(fill_launches(builder, first_row));
    for (*done = 0; *done < count; ++*done) {
        size_t row_counts[TABLE_COUNT], metric_count = builder->metric_count;
        for (int i = 0; i < TABLE_COUNT; i++)
            row_counts[i] = builder->tables[i].row_count;
        Verdict verdict = scan_result(builder, entries[*done].bytes, entries[*done].kind);
        if (verdict != ACCEPTED) {
            roll_back(builder, row_counts, metric_count);
            return verdict;
        }
    }
    return ACCEPTED;
}

/* ---- What Python sees ------------------------------------------------------------------------ */

static void empty(Builder *builder)
{
    for (int i = 0; i < TABLE_COUNT; i++)
        for (int j = 0; j < MAX_COLUMNS; j++) {
            Column *column = &builder->tables[i].columns[j];
            free(column->values);
            free(column->valid);
            free(column->data);
        }
    memset(builder->tables, 0, sizeof builder->tables);
    for (size_t i = 0; i < builder->metric_count; i++) {
        free(((MetricColumn *)builder->metrics)[i].raw);
        free(((MetricColumn *)builder->metrics)[i].kind);
    }
    free(builder->metrics);
    free(builder->metric_of);
    free(builder->canonical);
    free(builder->wanted);
    builder->metrics = NULL;
    builder->metric_of = builder->canonical = NULL;
    builder->wanted = NULL;
    builder->metric_count = builder->metric_capacity = 0;
    if (builder->file.obj != NULL)
        PyBuffer_Release(&builder->file);
}

static void builder_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    empty((Builder *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static const char BUSY[] = "the builder is scanning in another thread";

/* Raise where the builder cannot be used now: it was closed, or another thread is scanning. */
static bool is_usable(Builder *builder)
{
    if (builder->is_busy)
        PyErr_SetString(PyExc_RuntimeError, BUSY);
    else if (builder->file.obj == NULL)
        PyErr_SetString(PyExc_ValueError, "the builder is finished or closed");
    else
        return true;
    return false;
}

/* Fill a new builder; returns false with an exception set. */
static bool set_up(Builder *builder, Py_ssize_t launch_count, const Py_buffer *canonical,
                   const Py_buffer *wanted)
{
    size_t count = builder->string_count = (size_t)wanted->len;
    builder->launch_count = (size_t)launch_count;
    if (launch_count < 0 || builder->launch_count > UINT32_MAX || count > UINT32_MAX
        || (size_t)canonical->len != count * sizeof(uint32_t)) {
        PyErr_SetString(PyExc_ValueError, "the counts do not fit together");
        return false;
    }
    builder->wanted = malloc(count + 1);
    builder->canonical = malloc(count * sizeof(uint32_t) + 1);
    builder->metric_of = calloc(count + 1, sizeof(uint32_t));
    bool has_memory = builder->wanted && builder->canonical && builder->metric_of;
    for (int i = 0; i < TABLE_COUNT && has_memory; i++) {
        builder->tables[i].spec = &TABLES[i];
        has_memory = reserve_row(&builder->tables[i]) == ACCEPTED;
    }
    if (!has_memory) {
        PyErr_NoMemory();
        return false;
    }
    memcpy(builder->wanted, wanted->buf, count);
    memcpy(builder->canonical, canonical->buf, count * sizeof(uint32_t));
    for (size_t i = 0; i < count; i++) {
        if (builder->canonical[i] >= count) {
            PyErr_SetString(PyExc_ValueError, "a canonical name id is not one of the file");
            return false;
        }
    }
    return true;
}

static PyObject *builder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "launch_count", "canonical", "wanted", "options", NULL};
    Py_buffer file, canonical, wanted;
    Py_ssize_t launch_count;
    int options;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*ny*y*i:Builder", names, &file, &launch_count,
                                     &canonical, &wanted, &options))
        return NULL;
    Builder *builder = (Builder *)PyType_GenericAlloc(type, 0); /* all zero */
    if (builder == NULL) {
        PyBuffer_Release(&file);
    } else {
        builder->file = file;
        builder->options = (uint8_t)options;
        if (!set_up(builder, launch_count, &canonical, &wanted))
            Py_CLEAR(builder);
    }
    PyBuffer_Release(&canonical);
    PyBuffer_Release(&wanted);
    return (PyObject *)builder;
}

/* Return the entries to scan, each known to lie in the file; NULL with an exception set. */
static Entry *checked_entries(const Builder *builder, const Py_buffer *kinds,
                              const Py_buffer *extents)
{
    Py_ssize_t count = kinds->len;
    if (extents->len / 16 != count || extents->len % 16 != 0) {
        PyErr_SetString(PyExc_ValueError, "there are not as many extents as kinds");
        return NULL;
    }
    Entry *entries = calloc((size_t)count + 1, sizeof(Entry));
    if (entries == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        uint8_t kind = ((const uint8_t *)kinds->buf)[i];
        int64_t extent[2];
        memcpy(extent, (const char *)extents->buf + 16 * i, sizeof extent);
        if (kind == SOURCE || kind >= KIND_COUNT || extent[0] < 0 || extent[0] > extent[1]
            || extent[1] > builder->file.len) {
            PyErr_Format(PyExc_ValueError, "entry %zd is no result in the file", i);
            free(entries);
            return NULL;
        }
        const uint8_t *file = builder->file.buf;
        entries[i] = (Entry){{file + extent[0], file + extent[1]}, &RESULT_KINDS[kind]};
    }
    return entries;
}

PyDoc_STRVAR(SCAN_DOC,
    "scan($self, first_row, kinds, extents, /)\n--\n\n"
    "Scan entries into the rows from first_row on; return how many came before a refused one.");

static PyObject *builder_scan(PyObject *self, PyObject *args)
{
    Builder *builder = (Builder *)self;
    Py_ssize_t first_row;
    Py_buffer kinds, extents;
    if (!PyArg_ParseTuple(args, "ny*y*:scan", &first_row, &kinds, &extents))
        return NULL;
    size_t count = (size_t)kinds.len, row = (size_t)first_row, done = 0;
    Entry *entries = NULL;
    /* Asked after the arguments are there: to get them may run any code, such as `close`. */
    if (!is_usable(builder))
        ;
    else if (first_row < 0 || row < builder->tables[LAUNCH_TABLE].row_count
        || row > builder->launch_count || count > builder->launch_count - row)
        PyErr_SetString(PyExc_ValueError, "these rows are not free");
    else
        entries = checked_entries(builder, &kinds, &extents);
    PyBuffer_Release(&kinds);
    PyBuffer_Release(&extents);
    if (entries == NULL)
        return NULL;
    Verdict verdict;
    builder->is_busy = true;
    Py_BEGIN_ALLOW_THREADS
    verdict = scan_results(builder, row, entries, count, &done);
    Py_END_ALLOW_THREADS
    builder->is_busy = false;
    free(entries);
    return verdict == NO_MEMORY ? PyErr_NoMemory() : PyLong_FromSize_t(done);
}

/* Set an item of a dict and drop the reference to the item, which may be NULL. */
static bool set_item(PyObject *dict, const char *name, PyObject *item)
{
    bool is_set = item != NULL && PyDict_SetItemString(dict, name, item) == 0;
    Py_XDECREF(item);
    return is_set;
}

/* Return a Buffer of ones: the validity of a column that never is null. */
static PyObject *all_valid(PyTypeObject *buffer_type, size_t count)
{
    void *ones = NULL;
    if (!resize(&ones, count, 1))
        return PyErr_NoMemory();
    memset(ones, 1, count);
    PyObject *buffer = give_away(buffer_type, &ones, count, 1);
    free(ones);
    return buffer;
}

/* Return the offsets and the data of a column of text as a tuple, with `valid` unless it is NULL. */
static PyObject *text_object(PyTypeObject *buffer_type, Table *table, Column *column,
                             PyObject *valid)
{
    size_t size = (size_t)((int64_t *)column->values)[table->row_count];
    PyObject *offsets = give_away(buffer_type, &column->values, table->row_count + 1, 8);
    PyObject *data = give_away(buffer_type, &column->data, size, 1);
    return Py_BuildValue(valid == NULL ? "NN" : "NNN", offsets, data, valid);
}

static PyObject *table_object(PyTypeObject *buffer_type, Table *table)
{
    PyObject *columns = PyDict_New(), *ones = all_valid(buffer_type, table->row_count);
    for (int i = 0; columns != NULL && table->spec->columns[i].name != NULL; i++) {
        const ColumnSpec *spec = &table->spec->columns[i];
        Column *column = &table->columns[i];
        PyObject *found, *valid = ones;
        if (column->valid == NULL)
            Py_XINCREF(ones);
        else
            valid = give_away(buffer_type, &column->valid, table->row_count, 1);
        if (valid == NULL)
            found = NULL;
        else if (spec->type == TEXT)
            found = text_object(buffer_type, table, column, valid);
        else
            found = Py_BuildValue("NN", give_away(buffer_type, &column->values, table->row_count,
                                                  WIDTHS[spec->type]), valid);
        if (!set_item(columns, spec->name, found))
            Py_CLEAR(columns);
    }
    Py_XDECREF(ones);
    return columns;
}

/* Return which kinds occur: bit k for kind k. */
static unsigned kinds_in(const uint8_t *kinds, size_t count)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++)
        found |= 1u << kinds[i];
    return found;
}

/* Return the values of each metric, and which kinds they are, by its canonical name id. */
static PyObject *metrics_object(PyTypeObject *buffer_type, Builder *builder)
{
    PyObject *columns = PyDict_New();
    MetricColumn *metrics = builder->metrics;
    for (size_t i = 0; columns != NULL && i < builder->metric_count; i++) {
        PyObject *name = PyLong_FromUnsignedLong(metrics[i].name);
        unsigned kinds = kinds_in(metrics[i].kind, builder->launch_count);
        PyObject *column = Py_BuildValue(
            "NNI", give_away(buffer_type, &metrics[i].raw, builder->launch_count, 8),
            give_away(buffer_type, &metrics[i].kind, builder->launch_count, 1), kinds);
        if (name == NULL || column == NULL || PyDict_SetItem(columns, name, column) < 0)
            Py_CLEAR(columns);
        Py_XDECREF(name);
        Py_XDECREF(column);
    }
    return columns;
}

/* Return the canonical name ids of the metrics in order of first sight. */
static PyObject *order_object(PyTypeObject *buffer_type, const Builder *builder)
{
    void *names = NULL;
    if (!resize(&names, builder->metric_count, sizeof(uint32_t)))
        return PyErr_NoMemory();
    for (size_t i = 0; i < builder->metric_count; i++)
        ((uint32_t *)names)[i] = ((MetricColumn *)builder->metrics)[i].name;
    PyObject *buffer = give_away(buffer_type, &names, builder->metric_count, sizeof(uint32_t));
    free(names);
    return buffer;
}

static PyTypeObject *buffer_type_of(PyObject *module);

PyDoc_STRVAR(FINISH_DOC,
    "finish($self, /)\n--\n\nReturn the tables as a dict of buffers; the builder is then closed.");

static PyObject *builder_finish(PyObject *self, PyObject *unused)
{
    (void)unused;
    Builder *builder = (Builder *)self;
    if (!is_usable(builder))
        return NULL;
    PyTypeObject *buffer_type = buffer_type_of(PyType_GetModule(Py_TYPE(self)));
    if (fill_launches(builder, builder->launch_count) != ACCEPTED)
        return PyErr_NoMemory();
    PyObject *found = PyDict_New();
    bool is_complete = found != NULL;
    for (int i = 0; is_complete && i < TEXT_TABLE; i++)
        is_complete = set_item(found, TABLES[i].name,
                               table_object(buffer_type, &builder->tables[i]));
    Table *texts = &builder->tables[TEXT_TABLE];
    is_complete = is_complete
        && set_item(found, "text", text_object(buffer_type, texts, texts->columns, NULL))
        && set_item(found, "metric_order", order_object(buffer_type, builder))
        && set_item(found, "metric", metrics_object(buffer_type, builder));
    if (!is_complete)
        Py_CLEAR(found);
    empty(builder);
    return found;
}

PyDoc_STRVAR(CLOSE_DOC, "close($self, /)\n--\n\nLet go of the file and of everything scanned.");

static PyObject *builder_close(PyObject *self, PyObject *unused)
{
    (void)unused;
    Builder *builder = (Builder *)self;
    if (builder->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, BUSY);
        return NULL;
    }
    empty(builder);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(BUILDER_DOC,
    "Builder(buffer, launch_count, canonical, wanted, options)\n--\n\n"
    "Scans the results of a file into the columns of its tables.");

static PyMethodDef BUILDER_METHODS[] = {
    {"scan", builder_scan, METH_VARARGS, SCAN_DOC},
    {"finish", builder_finish, METH_NOARGS, FINISH_DOC},
    {"close", builder_close, METH_NOARGS, CLOSE_DOC},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot BUILDER_SLOTS[] = {
    {Py_tp_doc, (void *)BUILDER_DOC},
    {Py_tp_new, SLOT(builder_new)},
    {Py_tp_dealloc, SLOT(builder_dealloc)},
    {Py_tp_methods, BUILDER_METHODS},
    {0, NULL},
};

static PyType_Spec BUILDER_SPEC = {
    .name = "nsightlens.ncurep._scanner.Builder",
    .basicsize = sizeof(Builder),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = BUILDER_SLOTS,
};

PyDoc_STRVAR(INDEX_BLOCKS_DOC,
    "index_blocks($module, buffer, offset, limit=sys.maxsize, /)\n--\n\n"
    "Walk sound blocks that begin in [offset, limit); return the offset where it stopped, blocks and entries.");

static PyObject *index_blocks(PyObject *module, PyObject *args)
{
    Py_buffer file;
    Py_ssize_t offset, limit = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTuple(args, "y*n|n:index_blocks", &file, &offset, &limit))
        return NULL;
    if (offset < 0 || offset > file.len) {
        PyErr_Format(PyExc_ValueError, "offset %zd of %zd bytes", offset, file.len);
        PyBuffer_Release(&file);
        return NULL;
    }
    const uint8_t *start = file.buf;
    Span rest = {start + offset, start + file.len};
    Longs blocks = {0}, entries = {0};
    Verdict verdict = ACCEPTED;
    Span process = {NULL, NULL};
    Py_BEGIN_ALLOW_THREADS
    for (int64_t ordinal = 0; verdict == ACCEPTED && rest.at < rest.stop; ordinal++) {
        if (rest.at - start >= limit)
            break;
        size_t entry_count = entries.count;
        verdict = index_block(start, &rest, &blocks, &entries, ordinal, &process);
        if (verdict != ACCEPTED)
            entries.count = entry_count;
    }
    Py_END_ALLOW_THREADS
    PyTypeObject *type = buffer_type_of(module);
    PyObject *found;
    if (verdict == NO_MEMORY)
        found = PyErr_NoMemory();
    else
        found = Py_BuildValue("nNN", (Py_ssize_t)(rest.at - start),
                              give_away(type, &blocks.items, blocks.count, sizeof(int64_t)),
                              give_away(type, &entries.items, entries.count, sizeof(int64_t)));
    free(blocks.items);
    free(entries.items);
    PyBuffer_Release(&file);
    return found;
}

static PyMethodDef FUNCTIONS[] = {
    {"index_blocks", index_blocks, METH_VARARGS, INDEX_BLOCKS_DOC},
    {NULL, NULL, 0, NULL},
};

typedef struct {
    PyTypeObject *buffer_type;
} State;

static PyTypeObject *buffer_type_of(PyObject *module)
{
    return ((State *)PyModule_GetState(module))->buffer_type;
}

static int module_exec(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->buffer_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &BUFFER_SPEC, NULL);
    if (state->buffer_type == NULL)
        return -1;
    PyObject *builder_type = PyType_FromModuleAndSpec(module, &BUILDER_SPEC, NULL);
    int failed = builder_type == NULL || PyModule_AddType(module, (PyTypeObject *)builder_type) < 0;
    Py_XDECREF(builder_type);
    return failed ? -1 : 0;
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->buffer_type);
    return 0;
}

static int module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->buffer_type);
    return 0;
}

static PyModuleDef_Slot MODULE_SLOTS[] = {{Py_mod_exec, SLOT(module_exec)}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT,
    .m_name = "nsightlens.ncurep._scanner",
    .m_doc = "The compiled scanner; see nsightlens.ncurep.scan for what it does in Python.",
    .m_size = sizeof(State),
    .m_methods = FUNCTIONS,
    .m_slots = MODULE_SLOTS,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__scanner(void)
{
    return PyModuleDef_Init(&MODULE);
}
