/* Imports of the Extism ABI, for the C plugins of the tests. */
typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;
#define EXPORT(name) __attribute__((export_name(#name))) __attribute__((used))
#define ENV(name) __attribute__((import_module("extism:host/env"), import_name(#name)))
ENV(alloc) u64 x_alloc(u64);
ENV(free) void x_free(u64);
ENV(length) u64 x_length(u64);
ENV(load_u8) u32 x_load_u8(u64);
ENV(load_u64) u64 x_load_u64(u64);
ENV(store_u8) void x_store_u8(u64, u32);
ENV(store_u64) void x_store_u64(u64, u64);
ENV(input_length) u64 x_input_length(void);
ENV(input_load_u8) u32 x_input_load_u8(u64);
ENV(input_load_u64) u64 x_input_load_u64(u64);
ENV(output_set) void x_output_set(u64, u64);
ENV(error_set) void x_error_set(u64);
ENV(config_get) u64 x_config_get(u64);
ENV(var_get) u64 x_var_get(u64);
ENV(var_set) void x_var_set(u64, u64);
ENV(http_request) u64 x_http_request(u64, u64);
ENV(http_status_code) u32 x_http_status_code(void);
ENV(http_headers) u64 x_http_headers(void);
ENV(log_info) void x_log_info(u64);
ENV(log_error) void x_log_error(u64);
static inline u64 put(const char *s, u32 n) {
	u64 p = x_alloc(n);
	for (u32 i = 0; i < n; i++) x_store_u8(p + i, (u8)s[i]);
	return p;
}
#define TEXT(s) put(s, sizeof(s) - 1)
