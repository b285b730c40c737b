//! Go's text/template with sprig's and Helm's functions.
