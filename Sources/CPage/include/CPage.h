#ifndef GODWIT_PAGE_H
#define GODWIT_PAGE_H

/// A text file that is compiled into the program.
struct godwit_page_file {
    /// The name of the file without its folder; NULL behind the last file.
    const char *name;
    /// The content, in UTF-8, with a zero byte at its end.
    const char *content;
};

/// Returns the files of the map page and the description of the HTTP API.
const struct godwit_page_file *godwit_page_files(void);

#endif
