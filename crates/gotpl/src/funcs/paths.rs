//! sprig's functions for paths and URLs. Paths of the operating system are those of Unix.

use std::collections::BTreeMap;

use Flow::Compute;
use Param::Text;

use super::entry::{Answer, fixed, mark_of};
use crate::func::{Call, Fault, Flow, Func, Param};
use crate::value::{Element, Kind, Value};
use gocompat::path;
use gocompat::url::{Url, Userinfo};

pub(crate) const TABLE: &[Func] = &[
    fixed("base", &[Text], Compute, |call| {
        Ok(Value::text(path::base(call.text(0))))
    }),
    fixed("dir", &[Text], Compute, |call| {
        Ok(Value::text(path::dir(call.text(0))))
    }),
    fixed("clean", &[Text], Compute, |call| {
        Ok(Value::text(path::clean(call.text(0))))
    }),
    fixed("ext", &[Text], Compute, |call| {
        Ok(Value::text(path::ext(call.text(0))))
    }),
    fixed("isAbs", &[Text], Compute, |call| {
        Ok(Value::bool(path::is_abs(call.text(0))))
    }),
    fixed("osBase", &[Text], Compute, |call| {
        Ok(Value::text(path::base(call.text(0))))
    }),
    fixed("osDir", &[Text], Compute, |call| {
        Ok(Value::text(path::dir(call.text(0))))
    }),
    fixed("osClean", &[Text], Compute, |call| {
        Ok(Value::text(path::clean(call.text(0))))
    }),
    fixed("osExt", &[Text], Compute, |call| {
        Ok(Value::text(path::ext(call.text(0))))
    }),
    fixed("osIsAbs", &[Text], Compute, |call| {
        Ok(Value::bool(path::is_abs(call.text(0))))
    }),
    fixed("urlParse", &[Text], Compute, url_parse),
    fixed("urlJoin", &[Param::Map], Compute, url_join),
];

fn url_parse<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let url = Url::parse(call.text(0))
        .map_err(|error| Fault::new(format!("unable to parse url: {error}")))?;
    let mark = mark_of(call);
    let userinfo = url
        .user
        .as_ref()
        .map(Userinfo::to_bytes)
        .unwrap_or_default();
    let hostname = url.hostname().to_vec();
    let parts = [
        ("scheme", url.scheme),
        ("host", url.host),
        ("hostname", hostname),
        ("path", url.path),
        ("query", url.raw_query),
        ("opaque", url.opaque),
        ("fragment", url.fragment),
        ("userinfo", userinfo),
    ];
    let entry = |(key, part): (&'static str, Vec<u8>)| {
        (
            crate::value::Text::Borrowed(key.as_bytes()),
            Value::text(part).marked(mark),
        )
    };
    let entries: BTreeMap<_, _> = parts.into_iter().map(entry).collect();
    Ok(call.cx().dict(Element::Any, entries))
}

fn url_join<'a>(call: &mut Call<'_, '_, 'a>) -> Answer<'a> {
    let entries = call.cx().entries(&call.map(0));
    let part = |key: &str| -> Result<Vec<u8>, Fault> {
        match entries
            .iter()
            .find(|(known, _)| **known == *key.as_bytes())
            .map(|(_, value)| value)
        {
            None => Ok(Vec::new()),
            Some(Value {
                kind: Kind::Text(text),
                ..
            }) => Ok(text.to_vec()),
            Some(value) if value.is_nil() => {
                Err("runtime error: invalid memory address or nil pointer dereference".into())
            }
            Some(value) => {
                let kind = value.kind_name();
                Err(
                    format!("unable to parse {key} key, must be of type string, but {kind} found")
                        .into(),
                )
            }
        }
    };
    let mut url = Url {
        scheme: part("scheme")?,
        host: part("host")?,
        path: part("path")?,
        raw_query: part("query")?,
        opaque: part("opaque")?,
        fragment: part("fragment")?,
        ..Url::default()
    };
    let userinfo = part("userinfo")?;
    if !userinfo.is_empty() {
        let whole = [b"proto://", &userinfo[..], b"@host"].concat();
        let parsed = Url::parse(&whole)
            .map_err(|error| Fault::new(format!("unable to parse userinfo in dict: {error}")))?;
        url.user = parsed.user;
    }
    Ok(Value::text(url.to_bytes()))
}
