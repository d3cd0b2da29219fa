# Pages of docs/ as Doxygen reads them: links to sections and to files elsewhere become plain text.
s,\[\([^]]*\)\](\(\.\./\|#\)[^)]*),\1,g
s,\(\](\([a-z-]*\)\.md\)#[^)]*),\1),g
